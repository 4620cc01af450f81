// Regret over demand scenarios, with verdicts made up so that every sum can be done by hand.
#include "scenarios/planner/consequences/regret.hpp"

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/planner/planned_cells.hpp"

namespace spillway::test {
namespace {

/// Three sizes, all of which meet the SLO as it is: 192, 384 and 768 blocks of 2 MiB.
PlannedCells three_sizes() {
  return planned_cells({"192blocks", "384blocks", "768blocks"}, {}, repeating(4, 2, 1000, 1));
}

/// A cell meets the SLO where it has `least` times as many blocks as the demand's rate asks for.
WhatIfBatch needs(std::int64_t least) {
  return [least](std::span<const WhatIf> runs) {
    std::vector<WhatIfAnswer> out;
    for (const WhatIf& run : runs) {
      Trial trial;
      const auto blocks = static_cast<double>(run.scenario.tier->capacity.count);
      trial.met = blocks >= run.growth.rate * static_cast<double>(least);
      trial.targets = {{trial.met ? 0.0 : 1.0, 0.01, 100, 1}};
      out.push_back({std::move(trial), ""});
    }
    return out;
  };
}

DemandChoice demand(const std::string& name, double rate) {
  DemandChoice out;
  out.name = name;
  out.growth.rate = rate;
  return out;
}

Prices eight_a_gib() {
  return read_prices(JsonSource::from_text(
      "p.json", R"({"currency": "USD", "gpu_hour": 0, "dram_gib_month": 8})"));
}

TEST_CASE("the least worst regret is not the cheapest cell", "[scenarios][planner]") {
  // At 8 USD a GiB the sizes cost 3, 6 and 12 a month. As it is all three meet the SLO: regrets 0,
  // 3, 9. At twice the rate 192 blocks miss it and 384 are the best: regrets -, 0, 6.
  const PlannedCells planned = three_sizes();
  REQUIRE(planned.plan.recommended == 0);
  const Prices prices = eight_a_gib();
  const std::vector<DemandChoice> demands = {demand("peak", 2)};
  const PlanRegret regret =
      find_regret({planned.cells(), demands, Objective::kLeastDram, &prices, {0}, needs(192), 0})
          .value();
  CHECK(regret.measure == "USD a month");
  CHECK(regret.demands == std::vector<std::string>{"as it is", "peak"});
  REQUIRE(regret.rows.size() == 3);
  CHECK(regret.rows[0].point == 1);
  CHECK(*regret.rows[0].by_demand[0].regret == Approx(3));
  CHECK(*regret.rows[0].by_demand[1].regret == Approx(0));
  CHECK(regret.rows[0].worst == Approx(3));
  CHECK(regret.rows[1].point == 2);
  CHECK(regret.rows[1].worst == Approx(9));
  CHECK(regret.rows[2].point == 0);
  CHECK(regret.rows[2].missed == 1);
  CHECK_FALSE(regret.rows[2].by_demand[1].met());
  CHECK(
      regret.says ==
      "Over all demands 384blocks regrets least (at worst 3.00 USD a month behind the best); the "
      "recommended 192blocks misses the SLO under \"peak\". Met under a demand means in one run of "
      "it, without confidence");
}

TEST_CASE("without prices regret is in what the objective counts", "[scenarios][planner]") {
  const PlannedCells planned = three_sizes();
  const std::vector<DemandChoice> demands = {demand("quiet", 0.5)};
  const PlanRegret regret =
      find_regret({planned.cells(), demands, Objective::kLeastDram, nullptr, {0}, needs(192), 0})
          .value();
  CHECK(regret.measure == "GiB of dram");
  CHECK(regret.rows[0].point == 0);
  CHECK(regret.rows[0].worst == 0);
  CHECK(regret.rows[1].worst == Approx(0.375));  // 384 blocks hold 0.375 GiB more than needed
  CHECK_THAT(regret.says, ContainsSubstring("the recommended 192blocks regrets least too"));
}

TEST_CASE("a demand that no cell meets does not count", "[scenarios][planner]") {
  const PlannedCells planned = three_sizes();
  const std::vector<DemandChoice> demands = {demand("flood", 100)};
  const PlanRegret regret =
      find_regret({planned.cells(), demands, Objective::kLeastDram, nullptr, {0}, needs(192), 0})
          .value();
  CHECK(regret.rows[0].missed == 0);
  CHECK(regret.rows[0].point == 0);
  CHECK(regret.says == "No cell meets the SLO under \"flood\": sizes up to 768blocks were tried");
  CHECK_THAT(regret.notes[1].text,
             ContainsSubstring("No configuration meets the SLO under the demand \"flood\""));
}

TEST_CASE("a budget of runs keeps the recommended cell", "[scenarios][planner]") {
  const PlannedCells planned = three_sizes();
  const std::vector<DemandChoice> demands = {demand("peak", 2)};
  std::size_t runs = 0;
  const WhatIfBatch batch = [&](std::span<const WhatIf> asked) {
    runs += asked.size();
    return needs(192)(asked);
  };
  const PlanRegret regret =
      find_regret({planned.cells(), demands, Objective::kLeastDram, nullptr, {0, 1}, batch, 2})
          .value();
  CHECK(runs == 2);  // two cells of three, on one replicate of two
  REQUIRE(regret.rows.size() == 2);
  CHECK(regret.notes[0].code == "regret-of-some");
}

TEST_CASE("what the plan does not back as it is is not advised above what it does",
          "[scenarios][planner]") {
  // As above, but of 384 blocks only the screening says that they meet the SLO, and 768 miss it.
  PlannedCells planned = three_sizes();
  planned.plan.points[1].feasible = false;
  planned.plan.points[1].verdict = CellVerdict::kLooksMet;
  planned.plan.points[2].feasible = false;
  planned.plan.points[2].verdict = CellVerdict::kMissed;
  const std::vector<DemandChoice> demands = {demand("peak", 2)};
  const PlanRegret regret =
      find_regret({planned.cells(), demands, Objective::kLeastDram, nullptr, {0}, needs(192), 0})
          .value();
  REQUIRE(regret.rows.size() == 3);
  CHECK(regret.rows[0].point == 0);
  CHECK(regret.rows[0].missed == 1);
  CHECK_FALSE(regret.rows[1].by_demand[0].met());
  CHECK_THAT(regret.says, ContainsSubstring("the recommended 192blocks regrets least too: misses "
                                            "the SLO under \"peak\""));
  CHECK_THAT(regret.says, ContainsSubstring("384blocks misses fewer of the others, and the plan "
                                            "does not back it as it is"));
}

TEST_CASE("means of several replicates are said to be means", "[scenarios][planner]") {
  const PlannedCells planned = three_sizes();
  const std::vector<DemandChoice> demands = {demand("quiet", 0.5)};
  const PlanRegret regret =
      find_regret(
          {planned.cells(), demands, Objective::kLeastDram, nullptr, {0, 1, 2}, needs(192), 0})
          .value();
  CHECK_THAT(regret.says, ContainsSubstring("in the mean of 3 replicates of it, without"));
}

TEST_CASE("no demand, no regret", "[scenarios][planner]") {
  const PlannedCells planned = three_sizes();
  CHECK_FALSE(find_regret({planned.cells(), {}, Objective::kLeastDram, nullptr, {0}, needs(1), 0}));
}

}  // namespace
}  // namespace spillway::test
