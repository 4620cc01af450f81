// What binds where no size meets the SLO: each cause is planted, and has to be named.
#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// A document of 512 tokens costs 2 ms + 512 x (20 us + 5 ns) = 12.24 ms to compute, and as a load
/// 32 blocks of 2 MiB at 25 GB/s, 2.7 ms, and one token computed, 2.02 ms.
PlanResult plan_of(const std::vector<std::string>& settings, const Workload& workload) {
  std::vector<std::string> all = {"engine.num_gpu_blocks=65", "plan.sizes=[\"0blocks\"]"};
  all.insert(all.end(), settings.begin(), settings.end());
  return plan_sizes(reference_with(all), workload, 1, nullptr).result;
}

std::string target(const std::string& metric, int ms) {
  return fmt::format(R"(slo=[{{"metric": "{}", "max": {}}}])", metric, ms);
}

const Counterfactual& change(const PlanResult& plan, const std::string& kind) {
  REQUIRE(plan.judgement.counterfactuals);
  for (const Counterfactual& row : plan.judgement.counterfactuals->all) {
    if (row.kind == kind) return row;
  }
  FAIL("nothing of kind " << kind << " was tried");
  return plan.judgement.counterfactuals->base;
}

TEST_CASE("an overload is compute that is short, with what half the load would be",
          "[scenarios][planner]") {
  // Fifty prompts, one every 10 ms, each 12.24 ms of prefill: the last waits 50 x 2.24 = 112 ms.
  // Half as many a second leave the server idle between them.
  const PlanResult plan = plan_of({target("p99_ttft_ms", 50)}, repeating(50, 50, 10, 1));
  REQUIRE(plan.recommended == -1);
  CHECK(plan.judgement.binding_kind == "compute");
  CHECK(change(plan, "load").met);
  CHECK(change(plan, "load").value == Approx(12.24256));
  CHECK(change(plan, "compute").met);
  CHECK_THAT(plan.binding.front().text, StartsWith("With twice the compute speed, p99 TTFT of "));
  CHECK(says(plan.binding, "With half the load it would be 12 ms, which meets the SLO."));
  CHECK(plan.answer.cause == AnswerCause::kOverload);
  CHECK_THAT(plan.verdict,
             ContainsSubstring("Overloaded at every size tried: 102 requests/s arrive"));
}

TEST_CASE("a GPU too slow for one prompt is compute, whatever the load", "[scenarios][planner]") {
  // 12.24 ms against 10, at twice the speed 6.12; a second apart, so that nobody waits.
  const PlanResult plan = plan_of({target("p99_ttft_ms", 10)}, repeating(50, 50, 1000, 1));
  CHECK(plan.judgement.binding_kind == "compute");
  CHECK(change(plan, "compute").value == Approx(12.24256 / 2).margin(1e-3));
  CHECK_FALSE(change(plan, "load").met);
  CHECK(find_note(plan.binding, "changes-barely-help"));
}

TEST_CASE("requests that no server takes bind alone, whatever else is tried",
          "[scenarios][planner]") {
  // Five of fifty are longer than what the server admits, and 1% may miss.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 50; ++i) {
    rows.push_back({1000 * i, i % 10 == 0 ? 700U : 512U, 1, {i, 100 + i}});
  }
  const PlanResult plan =
      plan_of({"engine.max_model_len=600", target("p99_ttft_ms", 1000)}, workload_of(rows, 512));
  REQUIRE(plan.recommended == -1);
  CHECK(plan.judgement.binding_kind == "admission");
  CHECK_THAT(joined_text(plan.binding),
             StartsWith("10.0% of requests are longer than engine.max_model_len (600 tokens) and "
                        "fail at every size. p99 TTFT allows 1.0% to miss."));
}

TEST_CASE("what the policy loses does not bind where hardly a prompt returns in time",
          "[scenarios][planner]") {
  // Each tenth prompt is one of six that return; the others are new. LRU of 160 blocks, five
  // documents, has lost them by then, the optimum keeps four. The median prompt is new all the
  // same: 12.24 ms, and only a faster GPU makes it 10.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 300; ++i) {
    rows.push_back({1000 * i, 512, 1, {i % 10 == 0 ? i / 10 % 6 : 100 + i}});
  }
  const PlanResult plan =
      plan_of({"plan.sizes=[\"160blocks\"]", target("median_ttft_ms", 10)}, workload_of(rows, 512));
  CHECK(plan.judgement.binding_kind == "compute");
}

TEST_CASE("a policy that loses what the optimum keeps binds", "[scenarios][planner]") {
  // Six documents in turn, five of which fit: LRU misses all, the optimum hits four of six.
  const PlanResult plan = plan_of({"plan.sizes=[\"160blocks\"]", target("median_ttft_ms", 10)},
                                  repeating(50, 6, 1000, 1));
  CHECK(plan.judgement.binding_kind == "policy");
  REQUIRE(find_note(plan.binding, "better-policy"));
  CHECK(figure(*find_note(plan.binding, "better-policy"), "policy_share") == 0);
  CHECK(change(plan, "capacity").met);
}

TEST_CASE("a tier too small for any policy is capacity", "[scenarios][planner]") {
  // Of twelve documents in turn three fit: the optimum keeps two of twelve.
  const PlanResult plan =
      plan_of({"plan.sizes=[\"0blocks\", \"96blocks\"]", target("median_ttft_ms", 10)},
              repeating(60, 12, 1000, 1));
  CHECK(plan.judgement.binding_kind == "capacity");
  CHECK(says(plan.binding, "With a dram without bound, median TTFT"));
  CHECK_FALSE(plan.judgement.binding_hbm);
  CHECK(change(plan, "capacity").met);
}

TEST_CASE("HBM that holds one request at a time is capacity of HBM", "[scenarios][planner]") {
  // 48 usable blocks hold one request of 512 + 150 tokens: 12.24 + 149 x 2.02 = 314 ms each, one
  // every 200 ms. Two at a time keep up. Twice the compute speed would as well, as it would with
  // anything that is short.
  const PlanResult plan = plan_of({"engine.num_gpu_blocks=49", target("p99_ttft_ms", 500)},
                                  repeating(50, 50, 200, 150));
  CHECK(plan.judgement.binding_kind == "capacity");
  CHECK(plan.judgement.binding_hbm);
  CHECK(says(plan.binding, "With twice the blocks in HBM, "));
  CHECK(change(plan, "hbm").met);
  CHECK(change(plan, "compute").met);
}

TEST_CASE("a link that is too slow is bandwidth", "[scenarios][planner]") {
  // Loads of 67 MB at 10 GB/s take 6.7 ms, and 2.02 ms are computed: 8.7 ms, at twice the rate 5.4,
  // at twice the compute speed 7.7.
  const PlanResult plan =
      plan_of({"plan.sizes=[\"0blocks\", \"192blocks\"]", "links.0.bandwidth=10GB/s",
               "links.1.bandwidth=10GB/s", target("median_ttft_ms", 6)},
              repeating(50, 6, 1000, 1));
  CHECK(plan.judgement.binding_kind == "bandwidth");
  CHECK(plan.judgement.counterfactuals->cell == "192blocks");
  CHECK(change(plan, "bandwidth").met);
  CHECK_FALSE(change(plan, "compute").met);
}

TEST_CASE("admission that turns away what the server could have done binds",
          "[scenarios][planner]") {
  // Every second four prompts at once, 49 ms of work for a target of 100. A queue of one turns
  // some of them away, and who is turned away has missed it.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 80; ++i) rows.push_back({1000 * (i / 4), 512, 1, {i}});
  const PlanResult plan =
      plan_of({"engine.num_gpu_blocks=1025", R"(policies={"admission": "queue-limit:max_queue=1"})",
               target("p99_ttft_ms", 100)},
              workload_of(rows, 512));
  CHECK(plan.judgement.binding_kind == "admission");
  CHECK(change(plan, "admission").met);
  CHECK(plan.judgement.counterfactuals->base.margin < 0);
  CHECK(find_note(plan.binding, "turned-away"));
}

TEST_CASE("a plan with an answer is not asked what would bring one", "[scenarios][planner]") {
  const PlanResult plan = plan_of({}, repeating(50, 6, 1000, 1));
  CHECK(plan.recommended == 0);
  CHECK_FALSE(plan.judgement.counterfactuals);
}

TEST_CASE("changes are tried as far as plan.max_runs goes", "[scenarios][planner]") {
  const Workload workload = repeating(50, 50, 10, 1);
  const auto with = [&](int runs) {
    return plan_of({target("p99_ttft_ms", 50), fmt::format("plan.max_runs={}", runs)}, workload);
  };
  // One run of the one size; of the others the first is of nothing changed.
  const PlanResult three = with(4);
  REQUIRE(three.judgement.counterfactuals);
  CHECK(three.judgement.counterfactuals->all.size() == 2);
  const Notes& notes = three.judgement.counterfactuals->notes;
  REQUIRE(find_note(notes, "changes-by-runs"));
  CHECK(figure(notes.front(), "changes") == 2);
  const PlanResult none = with(2);
  CHECK_FALSE(none.judgement.counterfactuals);
  REQUIRE(none.notes.back().code == "left-out-by-runs");
  CHECK(figure(none.notes.back(), "left") == 1);
  CHECK(figure(none.notes.back(), "needed") == 2);
}

TEST_CASE("what binds is the same on one thread and on many", "[scenarios][planner]") {
  const Scenario scenario = reference_with(
      {"engine.num_gpu_blocks=65", "plan.sizes=[\"160blocks\"]", target("median_ttft_ms", 10)});
  const Workload workload = repeating(50, 6, 1000, 1);
  CHECK(plan_sizes(scenario, workload, 1, nullptr).result.binding ==
        plan_sizes(scenario, workload, 3, nullptr).result.binding);
}

}  // namespace
}  // namespace spillway::test
