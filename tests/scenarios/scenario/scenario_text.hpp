// A good scenario of one section a line, so that a test can break one line and know its number.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/sim/input_error.hpp"

namespace spillway::test {

/// Lines of the good scenarios below.
enum Line : int {
  kNameLine = 3,
  kModelLine = 4,
  kEngineLine = 5,
  kComputeLine = 6,
  kTierLine = 7,
  kDownLine = 9,
  kUpLine = 10,
  kWorkloadLine = 11,
  kSloLine = 12,
  kPlanLine = 13,
  kSeedLine = 14,
  kGpuLine = 15,
};

/// The scenario of a text, with these keys set otherwise.
inline Scenario scenario_of(std::string_view text, const std::vector<std::string>& assignments) {
  JsonSource source = JsonSource::from_text("s.json", text);
  for (const std::string& assignment : assignments) source.set(assignment);
  return load_scenario(source);
}

/// The reference scenario of the contract with an SLO and a plan; no GPU (line 15 is a comment).
inline std::vector<std::string> reference_lines() {
  return {
      R"(// One comment, so that line numbers do not start at the object.)",
      R"({)",
      R"("name": "reference",)",
      R"("model": {"kv_bytes_per_token": 131072},)",
      R"("engine": {"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": 2048,)"
      R"( "max_num_seqs": 256, "max_num_batched_tokens": 2048, "async_scheduling": false},)",
      R"("compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},)",
      R"("tiers": [{"name": "dram", "kind": "dram", "capacity": "4GiB", "eviction": "lru"}],)",
      R"("links": [)",
      R"({"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,)"
      R"( "bandwidth": "25GB/s"},)",
      R"({"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,)"
      R"( "bandwidth": "25GB/s"}],)",
      R"("workload": {"trace": "requests.jsonl", "arrival": "trace"},)",
      R"("slo": [{"metric": "p99_ttft_ms", "max": 2000}],)",
      R"("plan": {"sizes": ["0GiB", "4GiB"], "replications": 1, "sensitivity": false},)",
      R"("seed": 1)",
      R"(// no gpu)",
      R"(})",
  };
}

/// The same on a named model and GPU, with everything that has a default left out.
/// "vllm@0.6, vllm@0.12": every release, as errors list them.
inline std::string known_presets() {
  return fmt::format(
      "{}", fmt::join(engine_presets() | std::views::transform(&EnginePreset::name), ", "));
}

inline std::vector<std::string> gpu_lines() {
  std::vector<std::string> lines = reference_lines();
  lines[kModelLine - 1] = R"("model": "Llama-3.1-8B",)";
  lines[kEngineLine - 1] = R"("engine": {"preset": "vllm"},)";
  lines[kComputeLine - 1] = "";
  lines[kDownLine - 2] = "";
  lines[kDownLine - 1] = "";
  lines[kUpLine - 1] = "";
  lines[kGpuLine - 1] = R"(, "gpu": "H100")";
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// The lines with `line` (from 1) replaced.
inline std::string with_line(std::vector<std::string> lines, int line, std::string_view text) {
  lines[static_cast<std::size_t>(line) - 1] = text;
  return joined(lines);
}

inline Scenario scenario_of(std::string_view text) {
  return load_scenario(JsonSource::from_text("s.json", text));
}

/// A line of a good scenario and what makes it bad.
struct BrokenLine {
  int line;
  std::string text;  ///< what stands there instead
  std::string says;  ///< the message behind "s.json:LINE: ", or its beginning
};

/// Each of `cases`, put into `lines`, is refused on its line with its message (exit 2).
inline void refused(const std::vector<std::string>& lines, const std::vector<BrokenLine>& cases) {
  for (const BrokenLine& c : cases) {
    INFO("line: " << c.text);
    const InputError error = error_of([&] { scenario_of(with_line(lines, c.line, c.text)); });
    CHECK(error.fault() == Fault::kUsage);
    const std::string message = error.what();
    const std::string expected = fmt::format("s.json:{}: {}", c.line, c.says);
    INFO("message: " << message);
    CHECK(message.substr(0, expected.size()) == expected);
  }
}

}  // namespace spillway::test
