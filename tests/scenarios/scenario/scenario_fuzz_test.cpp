// Mutated scenarios and overrides: each is either read or refused with its file, line and exit 2.
#include <cstdlib>

#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/fuzz/mutator.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"

namespace spillway::test {
namespace {

const std::vector<std::string> kPieces = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"",
                                          "\n",
                                          "//",
                                          "/*",
                                          "null",
                                          "true",
                                          "-1",
                                          "0",
                                          "1e400",
                                          "9223372036854775808",
                                          "18446744073709551615",
                                          "1e-320",
                                          "\"inf\"",
                                          "\"0GiB\"",
                                          "\"1blocks\"",
                                          "\"1000000000000000blocks\"",
                                          "\"4194303TiB\"",
                                          "\"kind\": \"table\"",
                                          "\"gpu\": \"L4\"",
                                          "\"model\": \"8B\"",
                                          "\"synthetic\": {}",
                                          "\"copy_bytes\": [\"1B\"]",
                                          "\"gbs\": [1e-6]",
                                          "\"block_tokens\": 65536",
                                          "\"kv_bytes_per_token\": 1",
                                          "\\u0000",
                                          std::string(1, '\0'),
                                          "\xff",
                                          "\"a/b~c\": 1",
                                          "\"\": 1"};

std::vector<std::string> samples() {
  std::vector<std::string> table = gpu_lines();
  table[kDownLine - 1] =
      R"("links": [{"name": "d2h", "from": "hbm", "to": "dram", "kind": "table",)"
      R"( "copy_bytes": ["4KiB", "2MiB"], "copies": [1, 8], "gbs": [1, 20, 4, 25]}],)";
  table[kWorkloadLine - 1] =
      R"("workload": {"synthetic": {"turns": 5}, "arrival": "poisson", "rate_per_s": 2},)";
  return {joined(reference_lines()), joined(gpu_lines()), joined(table)};
}

/// Loads, and writes out what was loaded: no number in it may be impossible to print.
void load(const JsonSource& source) {
  const Scenario scenario = load_scenario(source);
  resolved_configuration(scenario).dump();
}

/// `message` stands in one of the text's lines, or in the file as a whole.
void check_place(const std::string& text, const std::string& message) {
  KV_ASSERT(message.starts_with("s.json:"), "no place in: {}", message);
  const std::int64_t line = std::atoll(message.c_str() + 7);  // 0 where no line follows
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  KV_ASSERT(line >= 1 && line <= lines, "{} lines, but: {}", lines, message);
}

/// What the fuzzer counts as refused: it knows traces.
[[noreturn]] void refuse(const InputError& error) {
  KV_ASSERT(error.fault() == Fault::kUsage, "exit {}: {}", static_cast<int>(error.fault()),
            error.what());
  throw InputError(Fault::kTrace, {}, error.what());
}

void expect_clean(const FuzzReport& report) {
  CHECK(report.failures == std::vector<std::string>{});
  CHECK(report.accepted > 0);
  CHECK(report.refused > 0);
}

TEST_CASE("fuzz: scenarios", "[scenarios]") {
  const auto target = [](const std::string& text, Stream&) {
    try {
      load(JsonSource::from_text("s.json", text));
    } catch (const InputError& error) {
      check_place(text, error.what());
      refuse(error);
    }
  };
  expect_clean(fuzz("scenario", 6000, Mutator(samples(), kPieces), target));
}

TEST_CASE("fuzz: overrides", "[scenarios]") {
  const std::vector<std::string> assignments = {"engine.num_gpu_blocks=99",
                                                "tiers.0.capacity=64GiB",
                                                "links.1.bandwidth=400Gbps",
                                                "workload={\"synthetic\": {\"turns\": 5}}",
                                                "plan.sizes=[\"0GiB\", \"inf\"]",
                                                "slo.0={\"metric\": \"goodput\", \"min\": 1}",
                                                "seed=7",
                                                "gpu=H100",
                                                "model=8B"};
  std::vector<std::string> pieces = kPieces;
  pieces.insert(pieces.end(), {".", "=", "0", "..", "a.b.c", "engine", "tiers"});
  const auto target = [](const std::string& assignment, Stream&) {
    try {
      JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
      source.set(assignment);
      load(source);
    } catch (const InputError& error) {
      refuse(error);
    }
  };
  expect_clean(fuzz("override", 4000, Mutator(assignments, pieces), target));
}

}  // namespace
}  // namespace spillway::test
