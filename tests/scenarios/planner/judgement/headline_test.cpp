// What a plan answers first: what its objective asks, and whether NVMe is worth it, in figures that
// can be worked out.
#include "reports/plan/headline.hpp"
#include "scenarios/experiment/trial.hpp"
#include "scenarios/planner/cells/recipes.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

/// 50 requests a second apart, six documents of 32 blocks in turn (judgement_test.cpp).
Workload cycle() {
  return repeating(50, 6, 1000, 1);
}

struct Told {
  std::vector<std::string> assignments;
  std::vector<bool> feasible;  ///< by cell
  int recommended = -1;
  std::vector<double> per_month{};  ///< by cell, in USD; none: no prices
  std::string recipe{};
};

/// Headline and verdicts where cells came out as told.
PlanResult plan_told(const Told& told) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  for (const std::string& assignment : told.assignments) source.set(assignment);
  if (!told.recipe.empty()) apply_recipe(source, told.recipe);
  const Workload workload = cycle();
  const SearchSpace space = make_search_space(
      plan_variants(source), [&](const Scenario&) -> const Workload& { return workload; });
  REQUIRE(space.cells.size() == told.feasible.size());
  PlanResult plan;
  plan.tier = "dram";
  plan.objective = name_of(space.variants.front().scenario.plan->objective);
  plan.recommended = told.recommended;
  for (std::size_t i = 0; i < space.cells.size(); ++i) {
    PlanPoint point;
    point.name = space.cells[i].name;
    point.capacity = space.cells[i].capacity;
    const Variant& variant = space.variants[space.cells[i].variant];
    point.values = variant.values;
    point.combination = variant.name;
    point.gpus = total_gpus(space.cells[i].scenario);
    point.replicas = space.cells[i].scenario.fleet->replicas;
    point.capacity_bytes = space.cells[i].capacity_bytes;
    point.feasible = told.feasible[i];
    point.run = run_trial(space.cells[i].scenario, workload).run;
    plan.points.push_back(std::move(point));
  }
  if (!told.per_month.empty()) {
    plan.cost.emplace().currency = "USD";
    for (std::size_t i = 0; i < told.per_month.size(); ++i) {
      CellCost cost;
      cost.point = static_cast<std::uint32_t>(i);
      cost.per_month = told.per_month[i];
      cost.goodput_per_cost = 1000 / told.per_month[i];
      plan.cost->cells.push_back(cost);
    }
  }
  const CellTrials none;
  const PlanFacts facts(plan, space, workload, none, Replication::kIndependent);
  name_verdicts(plan, facts);
  find_answer(plan, facts);
  plan.verdict = plan_headline(plan);
  return plan;
}

std::string headline(const Told& told) {
  return plan_told(told).verdict;
}

constexpr const char* kTwoSizes = R"(plan.sizes=["0GiB", "1GiB"])";
constexpr const char* kOneSize = R"(plan.sizes=["1GiB"])";
constexpr const char* kPrices = "plan.prices=prices.json";

TEST_CASE("least-dram names the size, the searched values by their keys, and the size below",
          "[scenarios][planner]") {
  const std::string text =
      headline({{kTwoSizes, R"(plan.search={"tiers.0.eviction": ["lru", "fifo"]})"},
                {false, false, false, true},
                3});
  CHECK_THAT(
      text, ContainsSubstring("Use 1 GiB of DRAM with eviction=fifo. It meets the SLO: p99 TTFT "));
}

TEST_CASE("least-gpus counts GPUs and says what fewer of them do", "[scenarios][planner]") {
  const std::vector<std::string> fleet = {kOneSize, "plan.objective=least-gpus",
                                          R"(plan.search={"fleet.replicas": [1, 2, 3]})"};
  CHECK_THAT(headline({fleet, {false, false, true}, 2}),
             ContainsSubstring("Use 3 GPUs (replicas=3) with 1 GiB of DRAM each; 2 GPUs missed the "
                               "SLO in its one run. It meets the SLO: p99 TTFT "));
  CHECK_THAT(headline({fleet, {true, true, true}, 0}),
             ContainsSubstring("Use 1 GPU (replicas=1) at 1 GiB of DRAM. It meets the SLO: "));
  CHECK_THAT(headline({fleet, {false, false, false}, -1}),
             ContainsSubstring("No number of GPUs tried meets the SLO: "));
}

TEST_CASE("most-load says the rate that the speed comes to, and the next load tried",
          "[scenarios][planner]") {
  // 49 gaps of a second at twice the speed: 50 requests in 24.5 s are 2.04 a second.
  const std::vector<std::string> speeds = {kOneSize, "plan.objective=most-load",
                                           R"(plan.search={"workload.speed": [1, 2, 2.5]})"};
  CHECK_THAT(headline({speeds, {true, true, false}, 1}),
             ContainsSubstring("The most load that meets the SLO at 1 GiB of DRAM is 2x of the "
                               "recorded rate = 2.04 requests/s (2.5x of the recorded rate missed "
                               "the SLO in its one run). It meets the SLO: p99 TTFT "));
  CHECK_THAT(headline({speeds, {true, true, true}, 2}),
             ContainsSubstring("requests/s (the most tried). "));
  CHECK_THAT(headline({speeds, {false, false, false}, -1}),
             ContainsSubstring("No load tried meets the SLO: "));
}

TEST_CASE("most-load of a closed loop counts clients", "[scenarios][planner]") {
  const std::string text =
      headline({{kOneSize, "plan.objective=most-load", "workload.arrival=closed-loop",
                 "workload.concurrency=1", R"(plan.search={"workload.concurrency": [1, 4]})"},
                {true, false},
                0});
  CHECK_THAT(text, ContainsSubstring(
                       "at 1 GiB of DRAM is 1 client (4 clients missed the SLO in its one run). "));
}

TEST_CASE("costs are told in money, with the cheaper cell that does not do",
          "[scenarios][planner]") {
  const std::vector<std::string> policies = {kOneSize, kPrices,
                                             R"(plan.search={"fleet.replicas": [1, 2, 3]})"};
  const auto with = [&](const char* objective) {
    std::vector<std::string> out = policies;
    out.emplace_back(objective);
    return out;
  };
  CHECK_THAT(
      headline({with("plan.objective=least-cost"), {false, true, true}, 1, {500, 1000, 2000}}),
      ContainsSubstring("Use 1 GiB, replicas=2, the cheapest that meets the SLO: USD 1,000 a "
                        "month. It meets the SLO: "));
  // 1,000 requests within the SLO a month for 1,000 USD.
  CHECK_THAT(
      headline({with("plan.objective=most-goodput-per-cost"),
                {false, true, true},
                1,
                {500, 1000, 2000}}),
      ContainsSubstring("Use 1 GiB, replicas=2: of all that meet the SLO it serves most requests "
                        "for its price, 1.00 within the SLO per USD. "));
}

TEST_CASE("whether NVMe lets the DRAM be smaller is answered", "[scenarios][planner]") {
  const auto answer = [](const std::vector<bool>& feasible, int recommended) {
    // 1 and 2 GiB of DRAM, then the same with NVMe behind them.
    const PlanResult plan = plan_told(
        {{R"(plan={"sizes": ["1GiB", "2GiB"]})"}, feasible, recommended, {}, "nvme-worth-it"});
    for (const Note& v : plan.judgement.verdicts) {
      if (v.code.starts_with("nvme-")) return v.text;
    }
    return std::string();
  };
  CHECK(answer({false, true, true, true}, 2) ==
        "NVMe is worth it: 1 GiB of DRAM meets the SLO above NVMe. Without NVMe it takes 2 GiB of "
        "DRAM.");
  CHECK(answer({false, true, false, true}, 1) ==
        "NVMe is not worth it: 2 GiB of DRAM meets the SLO without NVMe, and no smaller size with "
        "it.");
  CHECK(answer({false, false, true, true}, 2) ==
        "NVMe is worth it: 1 GiB of DRAM meets the SLO above NVMe, and no size without it.");
  CHECK(answer({false, true, false, false}, 1) ==
        "NVMe is not worth it: 2 GiB of DRAM meets the SLO without NVMe, and no size with it.");
  CHECK(answer({false, false, false, false}, -1) ==
        "NVMe cannot be judged: no size tried meets the SLO, with or without it.");
}

}  // namespace
}  // namespace spillway::test
