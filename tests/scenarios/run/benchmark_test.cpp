// workload.benchmark: a tool's requests through a whole run, and what is refused.
#include <string>

#include "scenarios/experiment/doubts/slo_doubts.hpp"
#include "scenarios/experiment/replicates.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

const std::string kGuide =
    R"({"tool": "guidellm", "version": "0.5.4", "concurrency": 4, "seconds": 10, "seed": 889,)"
    R"( "prompt_tokens": 128, "output_tokens": 64, "prefix_tokens": 1600, "prefix_count": 8})";

Scenario benchmark(const std::string& object, const std::vector<std::string>& more = {}) {
  std::vector<std::string> set = {"workload={\"benchmark\": " + object + "}"};
  set.insert(set.end(), more.begin(), more.end());
  return reference_with(set);
}

SimulationOutcome run_of(const Scenario& scenario) {
  return simulate(scenario, open_workload(scenario, {}));
}

TEST_CASE("a tool's clients make a closed loop that its seconds end", "[scenarios]") {
  const Scenario scenario = benchmark(kGuide);
  CHECK(scenario.workload->arrival.kind == ArrivalConfig::Kind::kClosedLoop);
  CHECK(scenario.workload->arrival.concurrency == 4);
  CHECK(scenario.workload->end == time_at(10'000'000'000));
  const SimulationOutcome outcome = run_of(scenario);
  const RunResult& run = outcome.result;
  // Four clients, of which each has a request under way at the end.
  CHECK(run.warmup_requests == 4);
  CHECK(run.duration_s == 10);
  CHECK(run.completed > 100);
  // 4 clients, 10 s, 64 tokens of 2 ms: 312.5, and one request more of each client
  CHECK(run.completed + run.warmup_requests + run.not_sent == 317);
}

TEST_CASE("a run that ends before the seconds of its benchmark says so", "[scenarios]") {
  // Steps of 0.5 ms: faster than any engine.
  const std::string fast = "compute.step_us=500";
  const std::string short_answers =
      R"({"tool": "guidellm", "version": "0.5.4", "concurrency": 1, "seconds": 20,)"
      R"( "prompt_tokens": 16, "output_tokens": 1})";
  CHECK(says(run_of(benchmark(short_answers, {fast})).warnings,
             "Set workload.benchmark.requests higher"));
  // --max-requests of the tool ends it too.
  CHECK_FALSE(
      says(run_of(benchmark(short_answers, {fast, "workload.benchmark.requests=5"})).warnings,
           "Set workload.benchmark.requests higher"));
}

TEST_CASE("a turn waits for the answer before it, and finds its conversation", "[scenarios]") {
  const Scenario scenario =
      benchmark(kGuide, {"workload.benchmark.version=\"0.6.0\"", "workload.benchmark.turns=5"});
  const auto computed_share = [](const Scenario& s) {
    const RunResult run = run_of(s).result;
    return static_cast<double>(run.prompt_tokens_by_source.front().second) /
           static_cast<double>(run.input_tokens);
  };
  CHECK(scenario.workload->arrival.wait);
  // Prompts grow from 1,728 to 2,496 tokens, of which 128 are new each time.
  CHECK(computed_share(scenario) < computed_share(benchmark(kGuide)));
}

TEST_CASE("a setting that the release ignores is told", "[scenarios]") {
  const SimulationOutcome outcome = run_of(benchmark(kGuide, {"workload.benchmark.turns=5"}));
  CHECK(says(outcome.warnings, "GuideLLM 0.5.4 ignores turns"));
}

TEST_CASE("Qwen3's chat template is the default of its models", "[scenarios]") {
  const auto lines = [](const std::string& model) {
    std::vector<std::string> out = gpu_lines();
    out[kModelLine - 1] = "\"model\": \"" + model + "\",";
    out[kWorkloadLine - 1] = "\"workload\": {\"benchmark\": " + kGuide + "},";
    return scenario_of(joined(out)).workload->benchmark->template_tokens;
  };
  CHECK(lines("Qwen3-8B") == std::vector<double>{14, 9});
  CHECK_FALSE(lines("Llama-3.1-8B"));
}

TEST_CASE("what a benchmark cannot stand beside is refused", "[scenarios]") {
  const auto error = [](const std::string& object, const std::vector<std::string>& more) {
    return std::string(error_of([&] { benchmark(object, more); }).what());
  };
  const std::pair<std::string, std::string> cases[] = {
      {"workload.trace=\"t.jsonl\"", "expected one of trace, synthetic and benchmark"},
      {"workload.arrival=\"poisson\"", "workload.arrival: expected not with benchmark"},
      {"workload.speed=2", "workload.speed: expected not with benchmark"},
      {"workload.horizon_s=3", "workload.horizon_s: expected not with benchmark"},
      {"workload.warmup_s=10", "workload.warmup_s: expected less than benchmark.seconds"},
      {"workload.block_tokens=16", "workload.block_tokens: expected only with a trace"},
      {"workload.benchmark.tool=\"guide\"",
       "workload.benchmark.tool: unknown tool \"guide\"; did you mean"},
      {"workload.benchmark.version=\"0.4.0\"", "known: 0.5.0 to 0.6.0"},
      {"workload.benchmark.burstiness=2", "guidellm has no such setting"},
      {"workload.benchmark.clients=2", "unknown key of benchmark \"clients\""}};
  for (const auto& [assignment, message] : cases) {
    const std::string told = error(kGuide, {assignment});
    INFO(told);
    CHECK(told.find(message) != std::string::npos);
  }
}

TEST_CASE("published settings make the requests of their tools", "[scenarios]") {
  // As guide/benchmarks.md lists them, with the number of requests.
  const std::pair<std::string, std::uint32_t> cases[] = {
      {R"({"tool": "guidellm", "version": "0.5.4", "concurrency": 50, "seconds": 120, "seed": 889,)"
       R"( "prompt_tokens": 128, "output_tokens": 128, "prefix_tokens": 10000,)"
       R"( "prefix_count": 100})",
       23'488},
      {R"({"tool": "sglang-multiturn", "version": "0.5.2", "users": 80, "turns": 10,)"
       R"( "prompt_tokens": 2048, "output_tokens": 1, "concurrency": 4, "rate_per_s": 16,)"
       R"( "round_barrier_s": 0})",
       800},
      {R"({"tool": "sglang-multiturn", "version": "0.5.2", "users": 20, "turns": 10,)"
       R"( "prompt_tokens": 2048, "output_tokens": 16, "concurrency": 4, "rate_per_s": 20,)"
       R"( "seed": 42})",
       200},
      {R"({"tool": "lmbenchmark", "version": "2025.4", "users": 15, "turns": 20,)"
       R"( "rate_per_s": 0.1, "prefix_tokens": 1000, "history_tokens": 20000,)"
       R"( "output_tokens": 100, "seconds": 100})",
       10},
      {R"({"tool": "aiperf", "version": "0.5.0", "concurrency": 100, "requests": 1000,)"
       R"( "prompt_tokens": 1000, "output_tokens": 500})",
       1000}};
  for (const auto& [object, requests] : cases) {
    INFO(object);
    CHECK(open_workload(benchmark(object), {}).size() == requests);
  }
}

TEST_CASE("what is sent before the end of LMBenchmark counts to its end", "[scenarios]") {
  const Scenario scenario = benchmark(
      R"({"tool": "lmbenchmark", "version": "2025.4", "users": 4, "turns": 5, "rate_per_s": 2,)"
      R"( "prefix_tokens": 100, "history_tokens": 500, "output_tokens": 50, "seconds": 20})");
  CHECK(scenario.workload->arrival.horizon == time_at(20'000'000'000));
  CHECK(scenario.workload->end == Time::max());
  CHECK(scenario.workload->arrival.kind == ArrivalConfig::Kind::kTrace);
  const RunResult run = run_of(scenario).result;
  CHECK(run.completed == run.requests);
  CHECK(run.requests + run.not_sent == open_workload(scenario, {}).size());
}

TEST_CASE("a sender of SGLang keeps so many requests in flight and no more", "[scenarios]") {
  const Scenario scenario = benchmark(
      R"({"tool": "sglang-multiturn", "version": "0.5.2", "users": 12, "turns": 3,)"
      R"( "prompt_tokens": 256, "output_tokens": 8, "concurrency": 2, "rate_per_s": 50})");
  CHECK(scenario.workload->arrival.concurrency == 2);
  const RunResult run = run_of(scenario).result;
  CHECK(run.completed == 36);
  CHECK(run.peak_waiting <= 2);
}

TEST_CASE("a benchmark that is too short for its target says which key is longer", "[scenarios]") {
  const auto advice = [](const std::string& object) {
    const Scenario scenario =
        benchmark(object, {R"(slo=[{"metric": "p99_ttft_ms", "max": 5000}])"});
    return few_for_percentile(scenario, open_workload(scenario, {})).value().text;
  };
  CHECK(advice(R"({"tool": "vllm-bench", "version": "0.19.0", "requests": 50})")
            .find("Set workload.benchmark.requests to") != std::string::npos);
  CHECK(advice(R"({"tool": "sglang-multiturn", "version": "0.5.2", "users": 3, "turns": 2,)"
               R"( "rate_per_s": 16})")
            .find("Set workload.benchmark.users higher") != std::string::npos);
}

TEST_CASE("a file of lengths lies beside the scenario that names it", "[scenarios]") {
  const Scratch scratch;
  scratch.file("lengths.csv", "100,20\n200,30\n");
  std::vector<std::string> lines = gpu_lines();
  lines[kWorkloadLine - 1] =
      R"("workload": {"benchmark": {"tool": "vllm-bench", "version": "0.19.0", "requests": 2,)"
      R"( "dataset": "sharegpt", "lengths": "lengths.csv"}},)";
  const Scenario scenario =
      load_scenario(JsonSource::from_file(scratch.file("s.json", joined(lines))));
  CHECK(open_workload(scenario, {}).size() == 2);
  CHECK(scenario.workload->files().find("lengths.csv") != std::string::npos);
}

TEST_CASE("replicates of a benchmark have other seeds", "[scenarios]") {
  const Scenario scenario = benchmark(
      R"({"tool": "vllm-bench", "version": "0.19.0", "requests": 50, "range_ratio": 0.5})");
  Replicates replicates(scenario, 3, 1, {});
  const auto hash = [&](std::uint32_t index) { return replicates.get(index).requests_hash(); };
  CHECK(hash(0) == open_workload(scenario, {}).requests_hash());
  CHECK(hash(1) != hash(0));
  CHECK(hash(2) != hash(1));
}

}  // namespace
}  // namespace spillway::test
