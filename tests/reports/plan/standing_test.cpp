// How cells stand: nothing that is not backed reads as if it were.
#include "reports/plan/standing.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

PlanPoint cell(CellVerdict verdict, std::uint32_t replications) {
  PlanPoint out;
  out.verdict = verdict;
  out.replications = replications;
  return out;
}

TEST_CASE("one run is told as one run", "[reports]") {
  const PlanResult plan;
  CHECK(standing(plan, cell(CellVerdict::kLooksMet, 0)) == "met once");
  CHECK(standing(plan, cell(CellVerdict::kLooksMissed, 0)) == "missed once");
  CHECK(shortfall(plan, cell(CellVerdict::kLooksMissed, 0)) == "missed the SLO in its one run");
}

TEST_CASE("met and missed stand for confidence, looks for replicates without it", "[reports]") {
  PlanResult plan;
  plan.confidence.emplace();
  CHECK(standing(plan, cell(CellVerdict::kMet, 20)) == "met");
  CHECK(standing(plan, cell(CellVerdict::kMissed, 10)) == "missed");
  CHECK(standing(plan, cell(CellVerdict::kLooksMet, 40)) == "looks met");
  CHECK(standing(plan, cell(CellVerdict::kLooksMissed, 3)) == "looks missed");
  CHECK(shortfall(plan, cell(CellVerdict::kMissed, 10)) == "misses the SLO");
  CHECK(shortfall(plan, cell(CellVerdict::kLooksMet, 40)) == "is not backed");
  CHECK(shortfall(plan, cell(CellVerdict::kLooksMissed, 3)) == "looks as if it missed the SLO");
  PlanPoint larger = cell(CellVerdict::kLooksMet, 3);
  larger.reason = "not-needed";
  CHECK(standing(plan, larger) == "looks met, not needed");
  CHECK(shortfall(plan, larger) == "was not run further, which was not needed");
  PlanPoint cold = cell(CellVerdict::kExcluded, 3);
  cold.reason = "cold-limited";
  CHECK(standing(plan, cold) == "cold-limited");
  CHECK(shortfall(plan, cold) == "cannot be judged");
}

TEST_CASE("in a plan that is not decided nothing reads as met", "[reports]") {
  PlanResult plan;
  plan.confidence.emplace();
  plan.undecided = true;
  CHECK(standing(plan, cell(CellVerdict::kMet, 20)) == "looks met");
  CHECK(standing(plan, cell(CellVerdict::kLooksMet, 0)) == "met once");
}

}  // namespace
}  // namespace spillway::test
