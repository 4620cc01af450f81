// Against a measured run of the real system: 300 requests on vLLM 0.19, Llama-3.1-8B, one RTX 4090,
// that arrive within 29 s and keep the GPU saturated, with preemptions, for three minutes
// (casys-kaist/LLMServingSim, bench/examples/RTX4090; MIT). The stand-in is the log of an engine of
// the documented law, run by the independent implementation in tests/oracle.
#include "scenarios/scenario/measured/measured_run.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

TEST_CASE("a saturated RTX 4090, measured and simulated", "[scenarios]") {
  const auto log = test::material("profiles/llmss_e2e_RTX4090_Llama-3.1-8B_requests.csv.gz");
  const MeasuredRun run = load_measured({log.path});
  REQUIRE(run.requests.size() == 300);
  const auto measured = metrics_of(run);
  const Workload workload = workload_of(run, 512);
  const Scenario scenario = load_scenario(JsonSource::from_text("measured.json", R"({
    "name": "measured", "model": "Llama-3.1-8B", "gpu": "RTX4090",
    "engine": {"preset": "vllm@0.19", "num_gpu_blocks": 2588, "max_num_seqs": 256,
               "max_num_batched_tokens": 2048, "max_model_len": 32768},
    "workload": {"trace": "unused.jsonl"}
  })"));
  const RunResult r = simulate(scenario, workload).result;
  REQUIRE(r.completed == 300);

  const std::pair<const char*, double> rows[] = {
      {"mean_ttft_ms", r.ttft.mean_ms},     {"median_ttft_ms", r.ttft.median_ms},
      {"p99_ttft_ms", r.ttft.p99_ms},       {"mean_tpot_ms", r.tpot.mean_ms},
      {"median_tpot_ms", r.tpot.median_ms}, {"p99_tpot_ms", r.tpot.p99_ms},
      {"mean_e2el_ms", r.e2el.mean_ms},     {"p99_e2el_ms", r.e2el.p99_ms},
  };
  std::string table;
  for (const auto& [name, simulated] : rows) {
    const double expected = measured.at(name);
    table += fmt::format("{:15} measured {:9.1f}  simulated {:9.1f}  {:+.1f}%\n", name, expected,
                         simulated, 100 * (simulated / expected - 1));
  }
  UNSCOPED_INFO(table);  // the table is shown by `spillway_tests -s "a saturated RTX*"`
  // No parameter was fitted to this run. 5% is the bar; the worst row stood at -4% when written.
  for (const auto& [name, simulated] : rows) {
    CHECK(simulated == Approx(measured.at(name)).epsilon(0.05));
  }
}

}  // namespace
}  // namespace spillway
