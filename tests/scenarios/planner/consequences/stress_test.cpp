// What may happen to a cell: each event changes what it says, on systems with a closed form.
#include "scenarios/planner/consequences/stress.hpp"

#include <algorithm>

#include "scenarios/planner/consequences/restart_watch.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "tests/scenarios/planner/planned_cells.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// Requests a second apart that cycle through six documents of 32 blocks, which HBM's 64 do not
/// hold. What is not cached costs 2 ms + 512 x (20 us + 5 ns) = 12.24256 ms; what is in DRAM takes
/// a load of 2.68435 ms + 10 us and 2.02256 ms for one token.
Workload cycle(std::uint32_t count = 50) {
  return repeating(count, 6, 1000, 1);
}

std::string median_ttft_at_most(double ms) {
  return fmt::format(R"(slo=[{{"metric": "median_ttft_ms", "max": {}}}])", ms);
}

std::optional<PlanStress> stress_of(const PlannedCells& planned, const Workload& workload,
                                    int point = 0, std::optional<double> growth = {},
                                    std::uint64_t most_runs = 0) {
  const WhatIfSource source{[&](std::uint32_t) -> const Workload& { return workload; }, 1};
  return find_stress({planned.cells(), point, what_if_runs(source, 2, nullptr, nullptr), workload,
                      growth, most_runs});
}

const StressRow& row(const PlanStress& stress, const std::string& name) {
  const auto at = std::find_if(stress.rows.begin(), stress.rows.end(),
                               [&](const StressRow& r) { return r.name == name; });
  REQUIRE(at != stress.rows.end());
  return *at;
}

TEST_CASE("a link at half speed doubles the time of a load and nothing else",
          "[scenarios][planner]") {
  const Workload workload = cycle();
  const PlannedCells planned = planned_cells({"384blocks"}, {median_ttft_at_most(6)}, workload);
  const PlanStress stress = stress_of(planned, workload).value();
  CHECK(stress.cell == "384blocks");
  const StressRow& as_is = row(stress, "as it is");
  CHECK(as_is.outcome == StressOutcome::kMet);
  CHECK(as_is.value == Approx(2.68435 + 0.01 + 2.02256).margin(1e-3));
  CHECK(as_is.margin == Approx((6 - as_is.value) / 6));
  const StressRow& link = row(stress, "host link at half speed");
  CHECK(link.value == Approx(as_is.value + 2.68435).margin(1e-3));
  CHECK(link.outcome == StressOutcome::kMissed);
  CHECK(link.target == "median_ttft_ms");
  CHECK(link.limit == 6);
  CHECK(link.margin < 0);
}

TEST_CASE("forecasts compound the growth of a month, which is said to be assumed",
          "[scenarios][planner]") {
  const Workload workload = cycle();
  const PlannedCells planned = planned_cells({"0blocks"}, {median_ttft_at_most(20)}, workload);
  const PlanStress assumed = stress_of(planned, workload).value();
  CHECK(assumed.growth_assumed);
  CHECK(row(assumed, "in 3 months").change == "1.16 times the sessions");  // 1.05 to the third
  CHECK(row(assumed, "in 12 months").change == "1.80 times the sessions");
  CHECK(assumed.notes.front().code == "growth-assumed");
  CHECK(figure(assumed.notes.front(), "growth_share") == 0.05);
  const PlanStress said = stress_of(planned, workload, 0, 0.1).value();
  CHECK_FALSE(said.growth_assumed);
  CHECK(row(said, "in 6 months").change == "1.77 times the sessions");
  const PlanStress still = stress_of(planned, workload, 0, 0.0).value();
  CHECK(std::none_of(still.rows.begin(), still.rows.end(),
                     [](const StressRow& r) { return r.kind == "forecast"; }));
  CHECK(row(still, "peak x2").outcome == StressOutcome::kMet);
}

TEST_CASE("where one host holds everything its loss is the end of the service",
          "[scenarios][planner]") {
  const Workload workload = cycle();
  const auto lost = [&](const std::vector<std::string>& more) {
    std::vector<std::string> settings = {median_ttft_at_most(20)};
    settings.insert(settings.end(), more.begin(), more.end());
    const PlannedCells planned = planned_cells({"0blocks"}, settings, workload);
    return row(stress_of(planned, workload).value(), "one host lost");
  };
  CHECK(lost({}).outcome == StressOutcome::kDown);
  CHECK_THAT(lost({}).reason, ContainsSubstring("one instance"));
  const StressRow spread = lost({"fleet.replicas=3"});
  CHECK(spread.outcome == StressOutcome::kMet);
  CHECK_THAT(spread.change, ContainsSubstring("2 of 3 instances"));
  const StressRow together = lost({"fleet.replicas=3", R"(host={"memory": "1TiB"})"});
  CHECK(together.outcome == StressOutcome::kDown);
  CHECK_THAT(together.reason, ContainsSubstring("all 3 instances stand on one host"));
  const StressRow pairs = lost({"fleet.replicas=4", R"(host={"memory": "1TiB", "instances": 2})"});
  CHECK_THAT(pairs.change, ContainsSubstring("2 of 4 instances"));
}

TEST_CASE("what a scenario has no use for is said, not asked", "[scenarios][planner]") {
  const Workload workload = cycle();
  const PlannedCells planned = planned_cells({"0blocks"}, {median_ttft_at_most(20)}, workload);
  const PlanStress stress = stress_of(planned, workload).value();
  CHECK(row(stress, "storage at half speed").outcome == StressOutcome::kNotAsked);
  CHECK(row(stress, "storage at half speed").reason == "there is no storage");
  CHECK_THAT(row(stress, "host link at half speed").reason, ContainsSubstring("below HBM"));
  CHECK(row(stress, "host link at half speed").target.empty());
}

TEST_CASE("a budget leaves out what comes last, and says so", "[scenarios][planner]") {
  const Workload workload = cycle();
  const PlannedCells planned = planned_cells({"384blocks"}, {median_ttft_at_most(20)}, workload);
  const PlanStress stress = stress_of(planned, workload, 0, {}, 3).value();
  const auto asked = std::count_if(stress.rows.begin(), stress.rows.end(),
                                   [](const StressRow& r) { return !r.target.empty(); });
  CHECK(asked == 3);
  CHECK(row(stress, "peak x2").outcome == StressOutcome::kNotAsked);
  CHECK(row(stress, "peak x2").reason == "plan.max_runs ends before it");
  CHECK_FALSE(stress.restart);
}

TEST_CASE("after a restart each document misses once, and then all is as before",
          "[scenarios][planner]") {
  // Of 400 requests the last 200 run on empty caches: six miss, in the first of ten stretches.
  const Workload workload = cycle(400);
  const PlannedCells planned = planned_cells({"384blocks"}, {median_ttft_at_most(20)}, workload);
  const PlanStress stress = stress_of(planned, workload).value();
  REQUIRE(stress.restart);
  const ColdRestart& restart = *stress.restart;
  CHECK(restart.from_s == Approx(200));
  REQUIRE(restart.warm.size() == 10);
  CHECK(restart.cold[0] == Approx(restart.warm[0] * 14 / 20));
  CHECK(restart.cold[1] == Approx(restart.warm[1]));
  CHECK(restart.cold_share == Approx(restart.warm_share * 194 / 200));
  REQUIRE(restart.recovery_s);
  CHECK(*restart.recovery_s == Approx(29.5));  // the middle of requests 20 to 39
  CHECK(row(stress, "cold restart").outcome == StressOutcome::kMet);
}

TEST_CASE("too few requests tell no recovery", "[scenarios][planner]") {
  const Workload workload = cycle(50);  // 25 behind the restart
  const PlannedCells planned = planned_cells({"384blocks"}, {median_ttft_at_most(20)}, workload);
  CHECK_FALSE(stress_of(planned, workload).value().restart);
  const Workload one = cycle(1);
  const PlannedCells small = planned_cells({"0blocks"}, {median_ttft_at_most(20)}, one);
  CHECK(row(stress_of(small, one).value(), "cold restart").outcome == StressOutcome::kNotAsked);
}

TEST_CASE("a hit ratio that does not come back is told as that", "[scenarios][planner]") {
  CacheWatch warm(160, 0);
  CacheWatch cold(160, 0);
  for (std::uint32_t i = 0; i < 160; ++i) {
    RequestRecord record;
    record.request = RequestId{i};
    record.arrival = time_at(std::int64_t{i} * 1'000'000'000);
    record.input_tokens = 100;
    record.cached_tokens[0] = 80;
    warm.on_request(record);
    record.cached_tokens[0] = 40;
    cold.on_request(record);
  }
  const ColdRestart restart = cold_restart(warm, cold).value();
  CHECK_FALSE(restart.recovery_s);
  CHECK(restart.warm_share == Approx(0.8));
  CHECK(restart.cold_share == Approx(0.4));
}

TEST_CASE("plan.stress follows plan.sensitivity unless it is given", "[scenarios][planner]") {
  CHECK_FALSE(reference_with({}).plan->stress);  // the reference has no sensitivity
  CHECK(reference_with({"plan.sensitivity=true"}).plan->stress);
  CHECK(reference_with({"plan.stress=true"}).plan->stress);
  CHECK_FALSE(reference_with({"plan.sensitivity=true", "plan.stress=false"}).plan->stress);
  CHECK(reference_with({"plan.growth_per_month=0.02"}).plan->growth_per_month == 0.02);
  CHECK_FALSE(reference_with({}).plan->growth_per_month);
  CHECK_THROWS_AS(reference_with({"plan.growth_per_month=-0.1"}), InputError);
  CHECK_THROWS_AS(reference_with({"plan.stress=7"}), InputError);
}

}  // namespace
}  // namespace spillway::test
