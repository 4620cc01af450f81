// Which cell a plan speaks of.
#include "reports/plan/cells.hpp"

#include "tests/reports/plan/plan_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

PlanPoint point_of(CellVerdict verdict, double attainment) {
  PlanPoint out;
  out.verdict = verdict;
  out.attainment = attainment;
  return out;
}

TEST_CASE("of cells that miss the one with most requests in time is spoken of", "[reports]") {
  PlanResult plan;
  CHECK(spoken_of(plan) == -1);
  plan.points = {point_of(CellVerdict::kMissed, 0.6), point_of(CellVerdict::kMissed, 0.9),
                 point_of(CellVerdict::kLooksMissed, 0.8)};
  CHECK(spoken_of(plan) == 1);
  CHECK(stands_worse(plan.points[0], plan.points[2]));
  CHECK_FALSE(stands_worse(plan.points[1], plan.points[2]));
  // What was not judged comes last, whatever its run; what looks met goes before any miss.
  plan.points.push_back(point_of(CellVerdict::kExcluded, 0.99));
  CHECK(spoken_of(plan) == 1);
  plan.points.push_back(point_of(CellVerdict::kLooksMet, 0.5));
  CHECK(spoken_of(plan) == 4);
}

}  // namespace
}  // namespace spillway::test
