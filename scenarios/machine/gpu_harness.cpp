#include "scenarios/machine/gpu_harness.hpp"

#include <fmt/format.h>
#include <cstdlib>
#include <filesystem>

#include "reports/format.hpp"
#include "sim/system.hpp"

namespace spillway {

namespace {

constexpr std::string_view kProgram = "spillway-gpu-harness";
constexpr std::string_view kVariable = "SPILLWAY_GPU_HARNESS";

std::string word_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.dump();
}

std::string actors_of(const nlohmann::json& actors) {
  std::string out;
  for (const nlohmann::json& actor : actors) {
    if (!out.empty()) out += '+';
    out += fmt::format("{}:{}:{}:{}", actor["dir"].get<std::string>(), actor["gpu"].get<int>(),
                       actor["bytes"].get<std::int64_t>(), actor["n"].get<std::int64_t>());
  }
  return out;
}

/// The beginning of an answer that is none, for an error message.
std::string shown(const std::string& line) {
  constexpr std::size_t kMost = 60;
  return printable(line.size() > kMost ? line.substr(0, kMost) + "..." : line);
}

}  // namespace

std::optional<std::string> find_gpu_harness(const GpuHarnessOptions& options,
                                            std::vector<std::string>& missing) {
  if (!options.path.empty()) return named_program(options.path, "--harness");
  const char* variable = std::getenv(kVariable.data());
  if (variable != nullptr && *variable != '\0') return named_program(variable, kVariable);
  const std::filesystem::path self = this_program_file();
  const std::string beside = (self.parent_path() / kProgram).string();
  if (!self.empty() && can_run(beside)) return beside;
  missing.push_back(
      fmt::format("GPU: built without CUDA: there is no {} beside the program (configure with "
                  "-DSPILLWAY_CUDA=ON, or name one with --harness)",
                  kProgram));
  return std::nullopt;
}

std::string request_line(std::string_view command, std::int64_t id, const nlohmann::json& request) {
  std::string out = fmt::format("cmd={} id={}", command, id);
  for (const auto& [key, value] : request.items()) {
    out += fmt::format(" {}={}", key, key == "actors" ? actors_of(value) : word_of(value));
  }
  return out + "\n";
}

GpuHarness::GpuHarness(const std::string& program, double patience_s)
    : child_(program), patience_s_(patience_s) {}

void GpuHarness::lose(const std::string& why) {
  throw BenchLost(why);
}

nlohmann::json GpuHarness::ask(std::string_view command, const nlohmann::json& request,
                               double takes_s, std::string_view more) {
  const std::int64_t id = ++last_id_;
  std::string text = request_line(command, id, request);
  text += more;
  const double wait_s = takes_s + patience_s_;
  std::string line;
  // Where writing fails, the child may have said why before it ended.
  const bool written = child_.write(text, wait_s);
  switch (child_.read_line(line, written ? wait_s : 1)) {
    case ChildProcess::Read::kLine:
      break;
    case ChildProcess::Read::kTimeout:
      child_.end();
      lose(fmt::format("the GPU harness did not answer `{}` within {:.0f} s", command, wait_s));
    case ChildProcess::Read::kClosed:
      lose(fmt::format("the GPU harness ended during `{}` ({})", command, child_.end()));
    case ChildProcess::Read::kTooLong:
      child_.end();
      lose(fmt::format("the GPU harness answered `{}` with an endless line", command));
  }
  const nlohmann::json answer = nlohmann::json::parse(line, nullptr, false);
  if (!answer.is_object() || !answer.contains("id") || answer["id"] != id) {
    child_.end();
    lose(fmt::format("the GPU harness answered `{}` with what is no answer: {}", command,
                     shown(line)));
  }
  if (answer.contains("lost")) {
    const std::string ended = child_.end();
    lose(fmt::format("the GPU is gone: {} during `{}` ({})", word_of(answer["lost"]), command,
                     answer.contains("what") ? word_of(answer["what"]) : ended));
  }
  return answer;
}

}  // namespace spillway
