// Whole runs: what a tier changes and what it must not, what is refused, what is named.
#include "scenarios/run/simulation.hpp"

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

std::uint64_t tokens_from(const RunResult& run, const std::string& source) {
  for (const auto& [name, tokens] : run.prompt_tokens_by_source) {
    if (name == source) return tokens;
  }
  FAIL("no source " << source);
  return 0;
}

bool warned(const SimulationOutcome& outcome, const std::string& text) {
  return says(outcome.warnings, text);
}

RunResult run_of(const Scenario& scenario, const Workload& workload) {
  return simulate(scenario, workload).result;
}

/// Mooncake's conversation trace on Llama-3.1-8B and one H100, at 0.35 of its speed.
Scenario conversation(const std::string& trace, const std::string& capacity) {
  std::vector<std::string> lines = gpu_lines();
  lines[kTierLine - 1] =
      fmt::format(R"("tiers": [{{"name": "dram", "kind": "dram", "capacity": "{}"}}],)", capacity);
  lines[kWorkloadLine - 1] = fmt::format(R"("workload": {{"trace": "{}", "speed": 0.35}},)", trace);
  lines[kPlanLine - 1] = "";
  return scenario_of(joined(lines));
}

constexpr const char* kConversation = "traces/mooncake_fast25_conversation.jsonl.gz";

TEST_CASE("a CPU tier as large as HBM adds under 0.5% on the conversation trace", "[scenarios]") {
  const Material trace = material(kConversation);
  const Figures figure(trace, "conversation");
  Scenario scenario = conversation(trace.path, "64GiB");
  const std::uint32_t blocks = scenario.engine.num_gpu_blocks - 1;
  scenario.tier->capacity = {Capacity::Kind::kBlocks, blocks};
  const Workload workload = open_workload(scenario, {});
  const RunResult run = run_of(scenario, workload);
  REQUIRE(run.completed == figure(12'031u, "requests"));
  REQUIRE(run.tiers[0].capacity_blocks == run.tiers[1].capacity_blocks);
  const auto added = static_cast<double>(tokens_from(run, "dram"));
  CHECK(added < 0.005 * static_cast<double>(run.input_tokens));
}

TEST_CASE("the conversation run is the same twice", "[scenarios]") {
  const Scenario scenario = conversation(material(kConversation).path, "64GiB");
  const Workload workload = open_workload(scenario, {});
  CHECK(digest_of_run(scenario, workload) == digest_of_run(scenario, workload));
}

TEST_CASE("a tier as large as an HBM that is never full adds no hit", "[scenarios]") {
  // 200 requests of 31 full blocks and 9 tokens over 30 documents: 960 blocks at most in HBM's
  // 2047. One-token outputs leave nothing that only DRAM holds.
  const Scenario scenario = with_capacity(reference_with(), "2047blocks");
  const RunResult run = run_of(scenario, repeating(200, 30, 25, 1, 505));
  REQUIRE(run.tiers[0].evictions == 0);
  REQUIRE(run.tiers[0].capacity_blocks == run.tiers[1].capacity_blocks);
  CHECK(run.tiers[1].hits == 0);
  CHECK(tokens_from(run, "dram") == 0);
}

TEST_CASE("a prompt of whole blocks finds its last block only below", "[scenarios]") {
  // HBM serves at most the prompt less one token in whole blocks, 31 of 32; the connector loads the
  // last one, and one token is computed again. 200 requests less the 30 first ones.
  const RunResult run = run_of(reference_with(), repeating(200, 30, 25, 1, 512));
  CHECK(run.tiers[0].hits == 170 * 31);
  CHECK(run.tiers[1].hits == 170);
}

/// A working set of 10 documents of 32 blocks and what 200 answers add: HBM holds it all.
Workload fitting() {
  return repeating(200, 10, 40, 32, 505);
}

TEST_CASE("an offload tier changes latencies by less than 1% where all fits HBM", "[scenarios]") {
  const RunResult without = run_of(with_capacity(reference_with(), "0GiB"), fitting());
  const RunResult with = run_of(with_capacity(reference_with(), "16GiB"), fitting());
  REQUIRE(without.tiers[0].evictions == 0);
  REQUIRE(with.tiers.size() == 2);
  REQUIRE(with.tiers[1].stores > 0);
  const auto close = [](double value, double reference) {
    CHECK(value == Approx(reference).epsilon(0.01));
  };
  close(with.ttft.mean_ms, without.ttft.mean_ms);
  close(with.ttft.p99_ms, without.ttft.p99_ms);
  close(with.tpot.mean_ms, without.tpot.mean_ms);
  close(with.tpot.p99_ms, without.tpot.p99_ms);
  close(with.e2el.mean_ms, without.e2el.mean_ms);
  close(with.e2el.p99_ms, without.e2el.p99_ms);
}

TEST_CASE("the same run twice has the same digest", "[scenarios]") {
  const Workload workload = repeating(300, 90, 3, 12);
  for (const char* arrival :
       {R"({"trace": "t"})", R"({"trace": "t", "arrival": "poisson", "rate_per_s": 100})",
        R"({"trace": "t", "arrival": "closed-loop", "concurrency": 8})"}) {
    INFO("workload: " << arrival);
    const Scenario scenario =
        reference_with({"engine.num_gpu_blocks=801", std::string("workload=") + arrival, "seed=5"});
    CHECK(digest_of_run(scenario, workload) == digest_of_run(scenario, workload));
  }
}

TEST_CASE("the seed changes Poisson arrivals and nothing of a trace's", "[scenarios]") {
  const Workload workload = repeating(50, 10, 3, 4);
  const auto digest = [&](const std::string& arrival, int seed) {
    return digest_of_run(reference_with({"workload={\"trace\": \"t\"" + arrival + "}",
                                         fmt::format("seed={}", seed)}),
                         workload);
  };
  const std::string poisson = R"(, "arrival": "poisson", "rate_per_s": 100)";
  CHECK(digest(poisson, 1) != digest(poisson, 2));
  CHECK(digest("", 1) == digest("", 2));
}

TEST_CASE("observers and progress change nothing", "[scenarios]") {
  const Workload workload = repeating(60, 20, 3, 8);
  const Scenario scenario = reference_with({"engine.num_gpu_blocks=201"});
  Journal journal;
  SimulationOptions options;
  options.observers.push_back(&journal);
  options.progress = [](std::uint64_t, std::uint64_t) {};
  CHECK(digest_of(to_json(simulate(scenario, workload, options).result)) ==
        digest_of_run(scenario, workload));
  CHECK(journal.requests.size() == 60);
}

TEST_CASE("an HBM pool that holds no request is refused before the run", "[scenarios]") {
  // 512 tokens + 8 outputs need ceil(519 / 16) = 33 blocks; 33 less the null block are 32.
  const Workload workload = repeating(5, 5, 1, 8);
  const Scenario short_one = reference_with({"engine.num_gpu_blocks=33"});
  const InputError error = error_of([&] { simulate(short_one, workload); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK(std::string(error.what()) ==
        "--set: engine.num_gpu_blocks: the pool holds 32 blocks of 16 tokens, but the smallest "
        "request needs 33; expected room for at least one request");
  CHECK(run_of(reference_with({"engine.num_gpu_blocks=34"}), workload).completed == 5);
}

TEST_CASE("arrivals beyond ten years are refused before the run", "[scenarios]") {
  // 400 s apart at a millionth of the speed: 12.7 years.
  const Workload workload = repeating(2, 1, 400'000, 1);
  const auto refusal = [&](const std::string& slowdown) {
    const Scenario s = reference_with({slowdown});
    return std::string(error_of([&] { simulate(s, workload); }).what());
  };
  CHECK_THAT(refusal("workload.speed=1e-6"), ContainsSubstring("after 13 years; expected at most"));
  CHECK_THAT(refusal(R"(workload={"trace": "t", "arrival": "poisson", "rate_per_s": 1e-6,
                                  "speed": 1e-3})"),
             ContainsSubstring("after 63 years"));  // 2 / 10^-9 s
  CHECK(run_of(reference_with({"workload.speed=1e-5"}), workload).completed == 2);
}

TEST_CASE("a pool that holds only some requests rejects the others", "[scenarios]") {
  const Workload workload = workload_of({{0, 512, 1, {1}}, {1, 1024, 1, {2, 3}}}, 512);
  const SimulationOutcome outcome =
      simulate(reference_with({"engine.num_gpu_blocks=33"}), workload);
  CHECK(outcome.result.completed == 1);
  CHECK(outcome.result.rejected == 1);
  CHECK(warned(outcome, "1 of 2 requests did not enter."));
}

TEST_CASE("a tier that holds no request refuses stores, and the run goes on", "[scenarios]") {
  // A request's 32 blocks are offered together; 31 slots take none of them.
  const RunResult run =
      run_of(with_capacity(reference_with(), "31blocks"), repeating(20, 20, 50, 1));
  CHECK(run.completed == 20);
  CHECK(run.tiers[1].stores == 0);
  CHECK(run.tiers[1].store_failures > 0);
}

TEST_CASE("a tier of no bytes is no tier", "[scenarios]") {
  const Workload workload = repeating(30, 5, 10, 4);
  const RunResult run = run_of(with_capacity(reference_with(), "0GiB"), workload);
  CHECK(run.tiers.size() == 1);
  CHECK(run.links.empty());
  const Scenario none = reference_with({"tiers=null", "links=null", "plan=null"});
  CHECK(digest_of_run(none, workload) ==
        digest_of_run(with_capacity(reference_with(), "0GiB"), workload));
}

TEST_CASE("an unbounded tier equals one that never fills", "[scenarios]") {
  // 100 requests of 33 blocks at most: 3,300 blocks.
  const Workload workload = repeating(100, 60, 4, 8);
  const Scenario base = reference_with({"engine.num_gpu_blocks=201"});
  const RunResult unbounded = run_of(with_capacity(base, "inf"), workload);
  const RunResult large = run_of(with_capacity(base, "3300blocks"), workload);
  CHECK(unbounded.tiers[1].unbounded);
  CHECK(unbounded.tiers[1].evictions == 0);
  CHECK(unbounded.tiers[1].hits == large.tiers[1].hits);
  CHECK(unbounded.e2el.mean_ms == large.e2el.mean_ms);
}

TEST_CASE("prompt tokens are those of the sources", "[scenarios]") {
  const RunResult run =
      run_of(reference_with({"engine.num_gpu_blocks=201"}), repeating(100, 20, 4, 8));
  REQUIRE(tokens_from(run, "dram") > 0);
  CHECK(tokens_from(run, "local_compute") + tokens_from(run, "hbm") + tokens_from(run, "dram") ==
        100 * 512);
  CHECK(run.input_tokens == 100 * 512);
}

TEST_CASE("a target is judged by its own metric and direction", "[scenarios]") {
  // One request of 512 tokens and 2 outputs: TTFT 12.24256 ms, E2EL 14.265125 ms.
  const auto passed = [](const std::string& slo) {
    const RunResult run = run_of(reference_with({"slo=[" + slo + "]"}), repeating(1, 1, 0, 2));
    REQUIRE(run.slo.size() == 1);
    return run.slo[0].passed;
  };
  CHECK(passed(R"({"metric": "mean_ttft_ms", "max": 12.25})"));
  CHECK_FALSE(passed(R"({"metric": "mean_ttft_ms", "max": 12.24})"));
  CHECK(passed(R"({"metric": "p95_e2el_ms", "max": 14.27})"));
  CHECK_FALSE(passed(R"({"metric": "p95_e2el_ms", "max": 14.26})"));
  CHECK(passed(R"({"metric": "median_tpot_ms", "max": 2.03})"));  // 2.022565 ms
  CHECK_FALSE(passed(R"({"metric": "median_tpot_ms", "max": 2.02})"));
  CHECK(passed(R"({"metric": "request_throughput", "min": 70})"));  // 1 / 14.265125 ms = 70.1
  CHECK_FALSE(passed(R"({"metric": "request_throughput", "min": 71})"));
  CHECK(passed(R"({"metric": "output_throughput", "min": 140})"));  // 140.2 tokens/s
  CHECK_FALSE(passed(R"({"metric": "output_throughput", "min": 141})"));
}

TEST_CASE("results say that hits are a lower bound, and repeat the scenario's notes",
          "[scenarios]") {
  Scenario scenario = reference_with();
  scenario.notes.push_back("a note of the scenario");
  const SimulationOutcome outcome = simulate(scenario, repeating(1, 1, 0, 1));
  CHECK(warned(outcome, "Cache hits are a lower bound"));
  CHECK(warned(outcome, "a note of the scenario"));
}

TEST_CASE("tiers and links carry the scenario's names and capacities", "[scenarios]") {
  const RunResult run = run_of(reference_with(), repeating(5, 5, 10, 1));
  REQUIRE((run.tiers.size() == 2 && run.links.size() == 2));
  CHECK(run.tiers[0].name == "hbm");
  CHECK(run.tiers[0].capacity_blocks == 2047);
  CHECK(run.tiers[1].name == "dram");
  CHECK(run.tiers[1].capacity_bytes == std::int64_t{4} << 30);
  CHECK(run.links[0].from == "hbm");
  CHECK(run.links[0].to == "dram");
  CHECK(run.links[1].name == "h2d");
  CHECK(run.links[1].capacity_bytes_per_s == Approx(25e9));
}

TEST_CASE("a limit cuts a synthetic workload", "[scenarios]") {
  const auto requests = [](const char* limit) {
    const Scenario s = reference_with(
        {fmt::format(R"(workload={{"synthetic": {{"requests": 50}}, "limit": {}}})", limit)});
    return open_workload(s, {}).size();
  };
  CHECK(requests("20") == 20);
  CHECK(requests("80") == 50);
}

TEST_CASE("a trace that is not there is an I/O fault when it is opened", "[scenarios]") {
  const Scratch scratch;
  const Scenario s = reference_with({"workload.trace=" + scratch.path("absent.jsonl")});
  CHECK(error_of([&] { open_workload(s, {}); }).fault() == Fault::kIo);
}

TEST_CASE("three steps may wait for one store: two in flight and an empty one in between",
          "[scenarios]") {
  // 99 usable blocks of 16 tokens, stores at 50 MB/s: 21 ms a block of 1 MiB. Preempted requests
  // return while their stores are still under way, so that steps queue up behind the same store.
  // Times and counts are the independent oracle's (tests/oracle).
  const Scenario s = reference_with(
      {"engine.preset=vllm", "engine.num_gpu_blocks=100", "engine.max_num_seqs=32",
       "engine.max_num_batched_tokens=512", "engine.async_scheduling=true",
       "model.kv_bytes_per_token=65536", "compute.step_us=30000", "compute.token_ns=30000",
       "compute.kv_token_ns=50", "tiers.0.capacity=1GiB", "links.0.bandwidth=50MB/s"});
  const Workload workload = workload_of({{50, 508, 100, {0}},
                                         {84, 679, 82, {8, 9}},
                                         {133, 465, 40, {16}},
                                         {182, 247, 38, {24}},
                                         {188, 208, 40, {32}},
                                         {196, 532, 16, {40, 41}},
                                         {695, 64, 3, {48}},
                                         {728, 64, 3, {56}}},
                                        512);
  const RunResult run = simulate(s, workload).result;
  CHECK(run.completed == 8);
  CHECK(run.preemptions == 4);
  CHECK(run.engine_steps == 129);
  CHECK(run.duration_s == Approx(4.9450021 - 0.05).epsilon(1e-12));
}

}  // namespace
}  // namespace spillway::test
