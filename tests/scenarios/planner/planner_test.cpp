// The planner on small workloads whose answer can be worked out by hand.
#include "scenarios/planner/planner.hpp"

#include <atomic>

#include "reports/plan/flag_words.hpp"
#include "reports/plan/plan_json.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// HBM of 65 blocks (64 usable: two documents of 32 blocks), a tier in multiples of one document,
/// 50 requests a second apart that cycle through six documents. Whatever is not cached costs a
/// prefill of 512 tokens: 2 ms + 20 us x 512 + 5 ns x 512 = 12.24 ms.
Scenario planned(const std::string& sizes, const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"engine.num_gpu_blocks=65", "plan.sizes=" + sizes,
                                  "plan.replications=1", "plan.sensitivity=false"};
  all.insert(all.end(), more.begin(), more.end());
  return reference_with(all);
}

/// LRU of fewer than six documents misses every one of a cycle of six, so all requests compute
/// everything; with six in DRAM all but the first six load 31 of 32 blocks at least.
Workload cycle() {
  return repeating(50, 6, 1000, 1);
}

PlanResult plan_of(const Scenario& scenario, const Workload& workload, unsigned threads = 1) {
  return plan_sizes(scenario, workload, threads, nullptr).result;
}

constexpr const char* kGrid =
    R"(["0blocks", "32blocks", "96blocks", "192blocks", "384blocks", "inf"])";

TEST_CASE("the smallest size that meets the target is recommended", "[scenarios]") {
  // The median request is a repetition: 12.24 ms while the cycle does not fit, less once it does.
  const PlanResult plan =
      plan_of(planned(kGrid, {R"(slo=[{"metric": "median_ttft_ms", "max": 10}])"}), cycle());
  REQUIRE(plan.points.size() == 6);
  std::vector<bool> feasible;
  for (const PlanPoint& p : plan.points) feasible.push_back(p.feasible);
  CHECK(feasible == std::vector<bool>{false, false, false, true, true, true});
  CHECK(plan.recommended == 3);
  CHECK(plan.points[3].capacity == "192blocks");
  CHECK_THAT(plan.verdict,
             ContainsSubstring("Use 192 blocks of DRAM. It meets the SLO: median TTFT "));
}

TEST_CASE("the knee is the first size with nearly all of the gain", "[scenarios]") {
  const PlanResult plan =
      plan_of(planned(kGrid, {R"(slo=[{"metric": "median_ttft_ms", "max": 10}])"}), cycle());
  CHECK(plan.knee == 3);
}

TEST_CASE("the largest size tried is no knee", "[scenarios]") {
  const PlanResult plan = plan_of(planned(R"(["0blocks", "96blocks", "192blocks"])"), cycle());
  CHECK(plan.knee == -1);
  CHECK(says(plan.notes, "No sweet spot within the sizes tried: hits grow up to 192 blocks."));
}

TEST_CASE("capacity binds where more is repeated than the largest size tried supplies",
          "[scenarios]") {
  // 44 of 50 requests repeat a document, which no size tried holds: 88%.
  const PlanResult plan = plan_of(
      planned(R"(["0blocks", "96blocks"])", {R"(slo=[{"metric": "median_ttft_ms", "max": 1}])"}),
      cycle());
  CHECK(plan.recommended == -1);
  CHECK(plan.judgement.binding_kind == "capacity");
  REQUIRE(find_note(plan.binding, "all-sizes-small"));
  CHECK(figure(*find_note(plan.binding, "all-sizes-small"), "reuse_share") == Approx(0.88));
}

TEST_CASE("nothing binds where the SLO is met and hardly more is repeated than caches supply",
          "[scenarios]") {
  const PlanResult plan = plan_of(
      planned(R"(["384blocks"])", {R"(slo=[{"metric": "median_ttft_ms", "max": 10}])"}), cycle());
  CHECK(plan.recommended == 0);
  CHECK_THAT(plan.verdict, ContainsSubstring("Use 384 blocks of DRAM. It meets the SLO: "));
  CHECK(plan.judgement.binding_kind == "none");
  CHECK_THAT(plan.binding.front().text, StartsWith("Caches serve 8"));
}

TEST_CASE("requests that arrive faster than they leave are called overload", "[scenarios]") {
  // One every millisecond, each 12.24 ms of prefill: 50 arrive in 49 ms and take 0.6 s.
  const PlanResult plan = plan_of(planned(kGrid, {R"(slo=[{"metric": "p99_ttft_ms", "max": 1}])"}),
                                  repeating(50, 50, 1, 1));
  REQUIRE(find_note(plan.binding, "queue-grows"));
  CHECK(figure(*find_note(plan.binding, "queue-grows"), "arrive_per_s") == Approx(50 / 0.049));
}

TEST_CASE("overload is judged at the speed that arrivals have", "[scenarios]") {
  // Ten a second for 50 requests are no overload; a hundred times as fast they are: 49 ms of
  // arrivals, 0.6 s of prefill.
  const auto binding = [](const char* speed) {
    const std::string workload = std::string(R"(workload={"trace": "t", "arrival": "poisson", )") +
                                 R"("rate_per_s": 10, "speed": )" + speed + "}";
    return plan_of(planned(kGrid, {workload, R"(slo=[{"metric": "p99_ttft_ms", "max": 1}])"}),
                   repeating(50, 50, 1, 1))
        .binding;
  };
  CHECK_FALSE(find_note(binding("1"), "queue-grows"));
  CHECK(find_note(binding("100"), "queue-grows"));
}

TEST_CASE("clients that hold requests back are overload as well, those that wait are not",
          "[scenarios]") {
  // As above, one every millisecond: with two in flight they queue at the clients. In a closed loop
  // nothing is offered faster than it is answered.
  const auto binding = [](const std::string& arrivals) {
    return plan_of(planned(kGrid, {R"(workload={"trace": "t", )" + arrivals + "}",
                                   R"(slo=[{"metric": "p99_ttft_ms", "max": 1}])"}),
                   repeating(50, 50, 1, 1))
        .binding;
  };
  CHECK(find_note(binding(R"("concurrency": 2)"), "queue-grows"));
  CHECK_FALSE(find_note(binding(R"("concurrency": 2, "arrival": "closed-loop")"), "queue-grows"));
  CHECK_FALSE(find_note(binding(R"("concurrency": 2, "sessions": "wait")"), "queue-grows"));
}

TEST_CASE("headroom is the distance to the tightest target", "[scenarios]") {
  const PlanResult plan = plan_of(planned(kGrid, {R"(slo=[{"metric": "median_ttft_ms", "max": 10},)"
                                                  R"( {"metric": "p99_ttft_ms", "max": 1000}])"}),
                                  cycle());
  const RunResult& run = plan.points[3].run;
  CHECK(plan.headroom == Approx((10 - run.ttft.median_ms) / 10));
}

TEST_CASE("every size is reported with its bytes", "[scenarios]") {
  const PlanResult plan = plan_of(planned(kGrid), cycle());
  CHECK(plan.points[0].capacity_bytes == 0);
  CHECK(plan.points[1].capacity_bytes == 32 * 2'097'152);  // 16 x 131,072 bytes a block
  CHECK(plan.points[5].unbounded);
  for (const PlanPoint& p : plan.points) CHECK(p.run.requests == 50);
}

TEST_CASE("a point is the run of that size and no other", "[scenarios]") {
  const Scenario scenario = planned(kGrid);
  const PlanResult plan = plan_of(scenario, cycle(), 2);
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    Scenario one = scenario;
    one.tier->capacity = scenario.plan->capacities[i];
    CHECK(plan.points[i].digest == digest_of_run(one, cycle()));
  }
}

TEST_CASE("no feasible size is an outcome, not an error", "[scenarios]") {
  const PlanResult plan =
      plan_of(planned(kGrid, {R"(slo=[{"metric": "p99_ttft_ms", "max": 0.5}])"}), cycle());
  CHECK(plan.recommended == -1);
  CHECK_THAT(plan.verdict, ContainsSubstring("No size meets the SLO: "));
  CHECK_THAT(plan.verdict, ContainsSubstring(" comes nearest with p99 TTFT "));
  CHECK_THAT(plan.verdict, ContainsSubstring("(limit 0.5 ms)"));
  CHECK_FALSE(plan.binding.empty());
}

TEST_CASE("requests that no server takes miss the SLO, however short the trace is for the tier",
          "[scenarios]") {
  // Every other request has 512 tokens where 300 are allowed: half of them fail, 1% may. 400
  // requests never fill 64 GiB, which a warmer cache would mend, but not this.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 400; ++i) {
    rows.push_back({100 * i, i % 2 == 0 ? 512U : 100U, 1, {i}});
  }
  const Scenario s = planned(R"(["64GiB"])", {"plan.replications=10", "engine.max_model_len=300"});
  const PlanResult plan = plan_of(s, workload_of(rows, 512));
  CHECK_FALSE(plan.undecided);
  CHECK(plan.recommended == -1);
  CHECK(plan.answer.verdict == AnswerVerdict::kMissed);
  CHECK(plan.answer.cause == AnswerCause::kNotAdmitted);
  CHECK_FALSE(plan.points[0].cold_limited);
  // Nor does it take replicates.
  const Scenario few = planned(
      R"(["64GiB"])", {"plan.replications=10", "plan.max_runs=1", "engine.max_model_len=300"});
  CHECK(plan_of(few, workload_of(rows, 512)).answer.verdict == AnswerVerdict::kMissed);
}

TEST_CASE("no tier is recommended where none is needed", "[scenarios]") {
  const PlanResult plan = plan_of(planned(kGrid), cycle());  // p99 of 2 s: always met
  CHECK(plan.recommended == 0);
  CHECK_THAT(plan.verdict, ContainsSubstring("No DRAM is needed. It meets the SLO: p99 TTFT "));
}

TEST_CASE("a size at which requests do not complete is not feasible", "[scenarios]") {
  // One request of 2,048 tokens needs 128 blocks of the pool's 64: rejected at every size.
  const Workload workload = workload_of({{0, 512, 1, {1}}, {1, 2048, 1, {2, 3, 4, 5}}}, 512);
  const PlanResult plan = plan_of(planned(kGrid), workload);
  CHECK(plan.recommended == -1);
  CHECK_THAT(plan.verdict, ContainsSubstring("50.0% of requests need more blocks than HBM has"));
}

/// A tier whose link takes a second a load makes every hit slower than computing again: the more
/// DRAM, the slower.
Scenario slow_link(const std::string& sizes) {
  return planned(
      sizes, {"links.1.latency_us=900000", R"(slo=[{"metric": "median_ttft_ms", "max": 100}])"});
}

TEST_CASE("where more is slower the smallest feasible size is named, and so is the loss",
          "[scenarios]") {
  const PlanResult plan = plan_of(slow_link(kGrid), cycle());
  std::vector<bool> feasible;
  for (const PlanPoint& p : plan.points) feasible.push_back(p.feasible);
  CHECK(feasible == std::vector<bool>{true, true, true, false, false, false});
  CHECK(plan.recommended == 0);
  const Note* note = find_note(plan.notes, "larger-misses");
  REQUIRE(note != nullptr);
  CHECK(text_figure(*note, "size") == "0 blocks");
  CHECK(text_figure(*note, "sizes") == "192 blocks, 384 blocks and inf");
}

TEST_CASE("a grid that starts beyond the feasible sizes finds none of them", "[scenarios]") {
  CHECK(plan_of(slow_link(R"(["192blocks", "inf"])"), cycle()).recommended == -1);
}

TEST_CASE("a busy link is named as what binds", "[scenarios]") {
  // All but the first six of 50 requests load for 0.99 s of their second: 44 x 0.99 / 50 = 87%.
  Scenario scenario = slow_link(R"(["192blocks"])");
  scenario.up->latency = std::chrono::milliseconds(990);
  const PlanResult plan = plan_of(scenario, cycle());
  CHECK(plan.judgement.binding_kind == "bandwidth");
  CHECK_THAT(plan.binding.front().text, StartsWith("With links twice as fast, "));
  CHECK(says(plan.binding, "Link h2d is busy 8"));
}

TEST_CASE("capacity binds where more would cache more", "[scenarios]") {
  const PlanResult plan = plan_of(planned(kGrid), cycle());  // recommended: no tier
  CHECK(plan.judgement.binding_kind == "capacity");
  CHECK(plan.binding.front().code == "capacity-pays");
}

TEST_CASE("a tier that adds nothing is said to add nothing", "[scenarios]") {
  // Fifty documents, none twice.
  const Workload workload = repeating(50, 50, 1000, 1);
  const auto notes_of = [&](const char* grid) {
    const PlanResult plan = plan_of(planned(grid), workload);
    CHECK(plan.knee == -1);
    return plan.notes;
  };
  CHECK(says(notes_of(kGrid), "More DRAM, up to inf, gains little: caches serve 0"));
  // Without a size of zero to compare with, only the rest of the grid is judged.
  const Notes rest = notes_of(R"(["96blocks", "192blocks"])");
  CHECK(says(rest, "More DRAM, up to 192 blocks, gains little: caches serve 0"));
  CHECK(figure(*find_note(rest, "no-more-reuse"), "reuse_share") == 0);
}

TEST_CASE("sizes that add nothing are compared with what a cache without bound would find",
          "[scenarios]") {
  // Six documents in turn, and room for five at most: 44 of 50 are repeated, and none is found.
  const PlanResult plan = plan_of(planned(R"(["0blocks", "96blocks", "160blocks"])"), cycle());
  CHECK(figure(*find_note(plan.notes, "unbounded-finds-more"), "reuse_share") == Approx(0.88));
}

TEST_CASE("the flags to set are those of the recommended size", "[scenarios]") {
  const PlanResult plan =
      plan_of(planned(R"(["0GiB", "3GiB"])", {R"(slo=[{"metric": "median_ttft_ms", "max": 10}])"}),
              cycle());
  REQUIRE(plan.recommended == 1);
  const std::string flags =
      "Set in vLLM (vllm@0.23): --kv-offloading-backend native --kv-offloading-size 3 "
      "--num-gpu-blocks-override 65 --max-num-seqs 256 --max-num-batched-tokens 2048 "
      "--no-async-scheduling";
  REQUIRE(plan.flags);
  CHECK(flag_sentences(*plan.flags, Detail::kBrief).front() == flags);
}

TEST_CASE("plans on one thread and on many are the same document", "[scenarios]") {
  const Scenario scenario = planned(kGrid);
  const nlohmann::json one = to_json(plan_of(scenario, cycle(), 1));
  for (const unsigned threads : {2u, 5u, 16u}) {
    const nlohmann::json many = to_json(plan_of(scenario, cycle(), threads));
    CHECK(digest_of(many) == digest_of(one));
  }
}

TEST_CASE("progress is told once per size", "[scenarios]") {
  std::atomic<std::size_t> calls{0};
  std::atomic<std::size_t> sum{0};
  plan_sizes(planned(kGrid), cycle(), 3, [&](std::size_t done, std::size_t total) {
    calls += total == 6 ? 1u : 100u;
    sum += done;
  });
  CHECK(calls == 6);
  CHECK(sum == 21);  // 1 + 2 + ... + 6
}

TEST_CASE("warnings of several sizes are told once", "[scenarios]") {
  const PlanOutcome outcome = plan_sizes(planned(kGrid), cycle(), 1, nullptr);
  std::vector<std::string> sorted;
  for (const Note& note : outcome.warnings) sorted.push_back(note.text);
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  CHECK_FALSE(sorted.empty());
}

TEST_CASE("a warning whose figures differ by size is told once, with their range", "[scenarios]") {
  // Six documents every 8 ms and 12.24 ms to compute one: the fewer a size holds, the more of them
  // a queue of one turns away.
  const Scenario s = planned(kGrid, {R"(policies={"admission": "queue-limit:max_queue=1"})"});
  const PlanOutcome outcome = plan_sizes(s, repeating(50, 6, 8, 1), 1, nullptr);
  Notes rejections;
  for (const Note& warning : outcome.warnings) {
    if (warning.code == "rejected") rejections.push_back(warning);
  }
  REQUIRE(rejections.size() == 1);
  std::uint64_t least = 50;
  std::uint64_t most = 0;
  for (const PlanPoint& point : outcome.result.points) {
    if (point.run.rejected == 0) continue;  // and no warning
    least = std::min(least, point.run.rejected);
    most = std::max(most, point.run.rejected);
  }
  REQUIRE(least < most);
  CHECK_THAT(rejections.front().text,
             ContainsSubstring(fmt::format("rejected {} to {} of 50 requests", least, most)));
}

TEST_CASE("a plan needs a grid and a target", "[scenarios]") {
  const auto message = [](const char* without) {
    const Scenario s = reference_with({without});
    const InputError error = error_of([&] { plan_sizes(s, cycle(), 1, nullptr); });
    CHECK(error.fault() == Fault::kUsage);
    return std::string(error.what());
  };
  CHECK_THAT(message("plan=null"), ContainsSubstring("s.json: plan: missing; expected {\"sizes\""));
  CHECK_THAT(message("slo=null"),
             ContainsSubstring("s.json: slo: missing; expected at least one target"));
}

TEST_CASE("a failure at one size ends the plan with that failure", "[scenarios]") {
  // A pool of 31 usable blocks holds no request of 32: the same error at every size.
  const Scenario s = planned(kGrid, {"engine.num_gpu_blocks=32"});
  const InputError error = error_of([&] { plan_sizes(s, cycle(), 4, nullptr); });
  CHECK_THAT(error.what(), ContainsSubstring("the pool holds 31 blocks of 16 tokens"));
}

}  // namespace
}  // namespace spillway::test
