#include "reports/plan/flag_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/format.hpp"

namespace spillway {

namespace {

struct EngineWords {
  std::string_view engine;
  std::string_view name;
  std::string_view start;  ///< a shell's command, up to the model
};
constexpr EngineWords kEngines[] = {
    {"vllm", "vLLM", "vllm serve \"$MODEL\""},
    {"sglang", "SGLang", "python3 -m sglang.launch_server --model-path \"$MODEL\""},
    {"trtllm", "TensorRT-LLM", "trtllm-serve \"$MODEL\""},
    {"mooncake-client", "Mooncake Store", "mooncake_master"},
};

const EngineWords& words_of(const EngineFlags& flags) {
  const auto* const found = std::find_if(std::begin(kEngines), std::end(kEngines),
                                         [&](const auto& e) { return e.engine == flags.engine; });
  return found == std::end(kEngines) ? kEngines[0] : *found;
}

}  // namespace

std::vector<std::string> flag_sentences(const EngineFlags& flags, Detail detail) {
  std::vector<std::string> out;
  out.push_back(fmt::format("Set in {} ({}): {}", words_of(flags).name, flags.release,
                            fmt::join(flags.arguments, " ")));
  if (!flags.environment.empty()) {
    out.push_back(fmt::format("In its environment: {}", fmt::join(flags.environment, " ")));
  }
  for (const EngineProcess& process : flags.processes) {
    out.push_back(
        fmt::format("Run beside it: {} {}", process.command, fmt::join(process.arguments, " ")));
  }
  for (const EngineFile& file : flags.files) {
    std::string text;
    for (const std::string& line : file.lines) {
      const std::size_t at = std::min(line.find_first_not_of(' '), line.size());
      if (!text.empty()) text += text.ends_with(':') ? " " : at > 0 ? ", " : "; ";
      text += line.substr(at);
    }
    out.push_back(fmt::format("In {}: {}", file.name, text));
  }
  if (!flags.comments.empty() && detail == Detail::kFull) {
    out.push_back(fmt::format("Sizes: {}", fmt::join(flags.comments, "; ")));
  }
  if (flags.not_covered.empty()) return out;
  std::vector<std::string> left = flags.not_covered;
  // "What: why".
  for (std::string& what : left) {
    if (detail == Detail::kBrief) what.resize(std::min(what.size(), what.find(": ")));
  }
  out.push_back(fmt::format("Those flags do not cover {}", fmt::join(left, "; ")));
  return out;
}

std::string shell_fragment(const EngineFlags& flags) {
  std::string out;
  for (const EngineFile& file : flags.files) {
    out += fmt::format("cat > {} <<'EOF'\n{}\nEOF\n", file.name, fmt::join(file.lines, "\n"));
  }
  for (const EngineProcess& process : flags.processes) {
    out += process.command;
    for (const std::string& argument : process.arguments) out += " \\\n  " + argument;
    out += " &\n";
  }
  for (const std::string& variable : flags.environment) out += variable + " \\\n";
  out += words_of(flags).start;
  for (const std::string& argument : flags.arguments) out += " \\\n  " + argument;
  out += '\n';
  // Names from the scenario stand in some of them: no line break may end a comment.
  for (const std::string& comment : flags.comments) out += "# " + printable(comment) + "\n";
  for (const std::string& what : flags.not_covered) {
    out += "# not covered: " + printable(what) + "\n";
  }
  return out;
}

}  // namespace spillway
