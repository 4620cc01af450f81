// Measured beats assumed, given beats measured, and whoever loses by more than 2% is told what
// follows.
#include "reports/notes/notes.hpp"
#include "scenarios/run/measured_warnings.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

class Place {
 public:
  /// A scenario on an H100 that names a measured run with these facts.
  Scenario with_facts(const std::string& facts, std::string_view engine = R"("preset": "vllm")",
                      std::string_view compute = "") const {
    const std::string path = scratch.file(
        "run.json",
        fmt::format("{{\"kind\": \"measured-run\", \"results\": {{\"facts\": {{{}}}}}}}\n", facts));
    std::vector<std::string> lines = gpu_lines();
    lines[kEngineLine - 1] = fmt::format("\"engine\": {{{}}},", engine);
    lines[kComputeLine - 1] = compute;
    lines[kSeedLine - 1] = fmt::format("\"measured\": \"{}\"", path);
    return scenario_of(joined(lines));
  }

  Scratch scratch;
};

/// One request of 1,000 tokens, 900 of them prompt.
Workload thousand() {
  return workload_of({{0, 900, 100, {1, 2}}}, 512);
}

TEST_CASE("measured blocks replace the estimate, given ones the measured", "[scenarios]") {
  const Place place;
  const std::uint32_t estimate = scenario_of(joined(gpu_lines())).engine.num_gpu_blocks;
  const std::uint32_t measured = estimate - estimate / 10;
  const Scenario s = place.with_facts(fmt::format("\"num_gpu_blocks\": {}", measured));
  CHECK(s.engine.num_gpu_blocks == measured);
  const Note warned = measured_warnings(s, thousand()).at(0);
  CHECK(warned.code == "pool-differs");
  CHECK(figure(warned, "used_blocks") == measured);
  CHECK(text_figure(warned, "used_how") == "measured");
  CHECK(figure(warned, "other_blocks") == estimate);
  CHECK(figure(warned, "off_share") == Approx(-0.1).epsilon(0.001));
  CHECK(figure(warned, "requests") == 16.0 * (estimate - measured) / 1000);  // of 1,000 tokens

  const Scenario given = place.with_facts(fmt::format("\"num_gpu_blocks\": {}", measured),
                                          R"("preset": "vllm", "num_gpu_blocks": 4000)");
  CHECK(given.engine.num_gpu_blocks == 4000);
  const Note over = measured_warnings(given, thousand()).at(0);
  CHECK(figure(over, "used_blocks") == 4000);
  CHECK(text_figure(over, "used_how") == "given");
  CHECK(figure(over, "other_blocks") == measured);
}

TEST_CASE("a pool measured in tokens is as many blocks", "[scenarios]") {
  const Place place;
  CHECK(place.with_facts("\"kv_tokens\": 41408").engine.num_gpu_blocks == 2588);  // of 16
  CHECK(place.with_facts("\"kv_tokens\": 41408", R"("preset": "vllm", "block_tokens": 32)")
            .engine.num_gpu_blocks == 1294);
}

TEST_CASE("within 2% nothing is said", "[scenarios]") {
  const Place place;
  const std::uint32_t estimate = scenario_of(joined(gpu_lines())).engine.num_gpu_blocks;
  const Scenario s =
      place.with_facts(fmt::format("\"num_gpu_blocks\": {}", estimate + estimate / 100));
  CHECK(measured_warnings(s, thousand()).empty());
}

TEST_CASE("the measured engine's settings are those of the scenario that gives none",
          "[scenarios]") {
  const Place place;
  const std::string facts =
      "\"max_num_seqs\": 48, \"max_num_batched_tokens\": 4096, \"max_model_len\": 32768";
  const Scenario s = place.with_facts(facts);
  CHECK(s.engine.max_num_seqs == 48);
  CHECK(s.engine.max_num_batched_tokens == 4096);
  CHECK(s.engine.max_model_len == 32768);
  const Scenario given = place.with_facts(facts, R"("preset": "vllm", "max_num_seqs": 256)");
  CHECK(given.engine.max_num_seqs == 256);
  const Note differs = measured_warnings(given, thousand()).at(0);
  CHECK(differs.code == "setting-differs");
  CHECK_THAT(differs.text,
             ContainsSubstring("max_num_seqs is 256 here and was 48 in the measured"));
}

TEST_CASE("a run of another model is noted, whether or not the catalogue has it",
          "[scenarios][measured]") {
  const Place place;
  const auto warned = [&](const std::string& model) {
    return joined_text(measured_warnings(
        place.with_facts(fmt::format("\"model\": \"{}\", \"max_num_seqs\": 256", model)),
        thousand()));
  };
  CHECK(warned("meta-llama/Llama-3.1-8B").find("another model") == std::string::npos);
  CHECK_THAT(warned("Qwen/Qwen3-8B"),
             ContainsSubstring("was of Qwen/Qwen3-8B, not of meta-llama/"));
  CHECK_THAT(warned("lab/own-7b"),
             ContainsSubstring("was of lab/own-7b, which the catalogue does not"));
}

TEST_CASE("a fact that is misspelt is refused, not left out", "[scenarios][measured]") {
  const Place place;
  CHECK_THROWS_WITH(
      place.with_facts("\"num_gpu_block\": 2588"),
      ContainsSubstring("num_gpu_block") && ContainsSubstring("did you mean \"num_gpu_blocks\"?"));
}

TEST_CASE("a measured host overhead replaces the default, with its share of a step",
          "[scenarios]") {
  const Place place;
  const Scenario s = place.with_facts("\"host_overhead_us\": 2700");
  CHECK(s.compute->host_overhead_us == 2700);
  const Note warned = measured_warnings(s, thousand()).at(0);
  CHECK(warned.code == "host-overhead-differs");
  CHECK(figure(warned, "used_us") == 2700);
  CHECK(figure(warned, "other_us") == 700);  // by default
  CHECK(figure(warned, "off_share") == Approx(2000.0 / 700));
  // A step is 2 ms longer than without.
  const double step_ms = figure(warned, "step_ms");
  CHECK(figure(warned, "tpot_share") == Approx(2 / (step_ms - 2)));
  const Scenario given =
      place.with_facts("\"host_overhead_us\": 2700", R"("preset": "vllm")",
                       R"("compute": {"kind": "components", "host_overhead_us": 1000},)");
  CHECK(given.compute->host_overhead_us == 1000);
  const Note over = measured_warnings(given, thousand()).at(0);
  CHECK(figure(over, "used_us") == 1000);
  CHECK(text_figure(over, "used_how") == "given");
  CHECK(figure(over, "other_us") == 2700);
}

TEST_CASE("a measured copy rate replaces the GPU's default, with the time of a load",
          "[scenarios]") {
  const Place place;
  const Scenario without = scenario_of(joined(gpu_lines()));
  const double model = without.up->make()->capacity().value() / 1e9;
  const Scenario s = place.with_facts("\"h2d_gbs\": 20");
  CHECK(s.up->make()->capacity().value() == Approx(20e9).epsilon(0.001));
  CHECK(s.down->make()->capacity().value() == without.down->make()->capacity().value());
  // 625 blocks of 16 tokens x 131,072 bytes.
  const double bytes = 625.0 * 16 * 131072;
  const Note differs = measured_warnings(s, thousand()).at(0);
  CHECK(differs.code == "copy-rate-differs");
  CHECK(figure(differs, "measured_bytes_per_s") == 20e9);
  CHECK(figure(differs, "model_bytes_per_s") == Approx(model * 1e9));
  CHECK(figure(differs, "measured_ms") == Approx(bytes / 20e6));
  CHECK(figure(differs, "model_ms") == Approx(bytes / model / 1e6));
  CHECK(text_figure(differs, "used") == "measured");
}

TEST_CASE("facts of another model are named", "[scenarios]") {
  const Place place;
  CHECK_THAT(
      joined_text(measured_warnings(place.with_facts("\"model\": \"Qwen/Qwen3-32B\""), thousand())),
      ContainsSubstring("was of Qwen/Qwen3-32B, not of"));
  CHECK(measured_warnings(place.with_facts("\"model\": \"meta-llama/Llama-3.1-8B\""), thousand())
            .empty());
}

TEST_CASE("a measured file that is none ends with its place", "[scenarios]") {
  const Scratch scratch;
  std::vector<std::string> lines = gpu_lines();
  lines[kSeedLine - 1] = "\"measured\": \"none.json\"";
  const InputError missing = error_of([&] { scenario_of(joined(lines)); });
  CHECK(missing.fault() == Fault::kIo);
  lines[kSeedLine - 1] =
      fmt::format("\"measured\": \"{}\"", scratch.file("run.json", "{\"kind\": \"run\"}\n"));
  CHECK_THAT(error_of([&] { scenario_of(joined(lines)); }).what(),
             ContainsSubstring("run.json:1: kind: expected \"measured-run\", found \"run\""));
}

}  // namespace
}  // namespace spillway::test
