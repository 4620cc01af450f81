#include "scenarios/commands/engine_input.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "reports/format.hpp"
#include "sim/input_file.hpp"

namespace spillway {

std::string EngineInput::typed_option() const {
  for (const auto& [name, value] :
       {std::pair{"--gpu", &intake.gpu}, std::pair{"--model", &intake.model},
        std::pair{"--config", &intake.config}, std::pair{"--release", &intake.release},
        std::pair{"--trace", &intake.trace}, std::pair{"--pick", &intake.pick}}) {
    if (!value->empty()) return name;
  }
  return {};
}

void add_engine_options(Verb& command, EngineInput& input, const std::string& about) {
  const auto line = [&](std::string text) {
    if (about.empty()) return text;
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    return about + text;
  };
  command.add("--gpu", input.intake.gpu, kinds::kGpu,
              about +
                  "GPU; H100:3g.40gb is a MIG slice (default: what the input names, else the "
                  "smallest of H100, H200, B200 that holds the model)");
  command.add("--model", input.intake.model, kinds::kModel, line("Model, in place of the input's"));
  command.add("--config", input.intake.config, kinds::kFile,
              about + "config.json of a model outside the catalogue");
  command.add(
      "--release", input.intake.release, kinds::kRelease,
      about + "vLLM's release, e.g. 0.9.1 (default: what the input names, else the newest)");
  command.add("--trace", input.intake.trace, kinds::kFile,
              line("Traffic (default: made-up chat sessions)"));
  command.add("--pick", input.intake.pick, kinds::kText,
              line("Which of several starts of an engine: its number, or the name of its container "
                   "or workload"));
}

std::vector<IntakeText> texts_of(const EngineInput& input) {
  std::vector<IntakeText> out;
  for (const std::string& file : input.files) {
    std::error_code none;
    // A command line in quotes, where a file was expected.
    if (file.find(' ') != std::string::npos && !std::filesystem::exists(file, none)) {
      out.push_back({"command line", file});
    } else if (file == "-") {
      out.push_back({"standard input", read_text_file("-")});
    } else {
      out.push_back({file, read_text_file(file)});
    }
  }
  if (!input.vllm.empty()) out.push_back({"--vllm", input.vllm});
  return out;
}

std::string ignored_comments(const Draft& draft) {
  std::string out;
  for (const Remark& remark : draft.remarks()) {
    if (remark.standing == Standing::kUsed || remark.standing == Standing::kAssumed) continue;
    const std::string_view kind = remark.standing == Standing::kNoEffect      ? "no effect"
                                  : remark.standing == Standing::kNotModelled ? "not modelled"
                                                                              : "unknown";
    out += fmt::format("//   {} ({}): {}\n", printable(remark.what), kind, printable(remark.why));
  }
  return out.empty() ? out : "// Ignored:\n" + out;
}

}  // namespace spillway
