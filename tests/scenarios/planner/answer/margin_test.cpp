// What breaks an answer, confirmed on replicates that are made up.
#include "scenarios/planner/answer/margin.hpp"

#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

/// On every replicate the SLO is missed once reuse is below `least`.
WhatIfBatch missed_below(double least) {
  return [least](std::span<const WhatIf> runs) {
    std::vector<WhatIfAnswer> out;
    for (const WhatIf& run : runs) {
      Trial trial;
      trial.met = run.growth.reuse >= least;
      trial.targets = {{trial.met ? 0.0 : 0.5, 0.01, 100, trial.met ? 1500.0 : 9000.0}};
      out.push_back({std::move(trial), ""});
    }
    return out;
  };
}

PlanMargin margin_at(double factor) {
  PlanMargin out;
  BreakingEvent event;
  event.kind = "reuse";
  event.factor = factor;
  event.name = "prefix reuse falls by one run";
  out.broken.push_back(event);
  return out;
}

PlanMargin confirmed(double least) {
  constexpr std::uint32_t kReplicates[] = {20, 21, 22};
  PlanMargin out = margin_at(0.9);
  confirm_events(out, reference_with(), missed_below(least), kReplicates, 2);
  return out;
}

TEST_CASE("what one run misses and replicates miss is told as they have it",
          "[scenarios][planner]") {
  const PlanMargin margin = confirmed(0.95);
  REQUIRE(margin.broken.size() == 1);
  CHECK(margin.broken[0].factor == 0.9);
  CHECK(margin.broken[0].replicates == 3);
  CHECK(margin.broken[0].value == 9000);
}

TEST_CASE("what replicates survive is sought farther off, at most at its fourth power",
          "[scenarios][planner]") {
  // 0.9, 0.81, 0.6561: the first that is below 0.85 is 0.81, below 0.7 the last.
  const PlanMargin near = confirmed(0.85);
  REQUIRE(near.broken.size() == 1);
  CHECK(near.broken[0].factor == Approx(0.81));
  CHECK(near.broken[0].name == "prefix reuse falls 19%");
  CHECK(near.broken[0].replicates == 3);
  const PlanMargin far = confirmed(0.7);
  REQUIRE(far.broken.size() == 1);
  CHECK(far.broken[0].factor == Approx(0.6561));
  CHECK(confirmed(0.5).broken.empty());
}

}  // namespace
}  // namespace spillway::test
