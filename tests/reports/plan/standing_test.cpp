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
  CHECK(standing(plan, cell(CellVerdict::kLooksMet, 0)) == "met (one run)");
  CHECK(standing(plan, cell(CellVerdict::kLooksMissed, 0)) == "missed (one run)");
  CHECK(shortfall(plan, cell(CellVerdict::kLooksMissed, 0)) == "missed the SLO in its one run");
}

TEST_CASE("met and missed stand for confidence, or say how few runs they rest on", "[reports]") {
  PlanResult plan;
  plan.confidence.emplace();
  CHECK(standing(plan, cell(CellVerdict::kMet, 20)) == "met");
  CHECK(standing(plan, cell(CellVerdict::kMissed, 10)) == "missed");
  CHECK(standing(plan, cell(CellVerdict::kLooksMet, 40)) == "uncertain");
  CHECK(standing(plan, cell(CellVerdict::kLooksMissed, 3)) == "missed (3 replicates)");
  CHECK(shortfall(plan, cell(CellVerdict::kMissed, 10)) == "misses the SLO");
  CHECK(shortfall(plan, cell(CellVerdict::kLooksMet, 40)) == "is uncertain");
  CHECK(shortfall(plan, cell(CellVerdict::kLooksMissed, 3)) == "missed the SLO in 3 replicates");
  PlanPoint larger = cell(CellVerdict::kLooksMet, 3);
  larger.reason = "not-needed";
  CHECK(standing(plan, larger) == "met (3 replicates)");
  CHECK(shortfall(plan, larger) == "was run on 3 replicates only, as a smaller size suffices");
  PlanPoint close = cell(CellVerdict::kLooksMissed, 40);
  close.targets = {{"p99_ttft_ms", "", false, true, 2000, 2010, 0.011, 0.01, 0.02, false, false}};
  CHECK(standing(plan, close) == "uncertain");
  CHECK(standing_status(plan, close) == Status::kUncertain);
  PlanPoint cold = cell(CellVerdict::kExcluded, 3);
  cold.reason = "cold-limited";
  CHECK(standing(plan, cold) == "cold-limited");
  CHECK(shortfall(plan, cold) == "cannot be judged");
}

TEST_CASE("in a plan that is not decided nothing reads as met", "[reports]") {
  PlanResult plan;
  plan.confidence.emplace();
  plan.undecided = true;
  CHECK(standing(plan, cell(CellVerdict::kMet, 20)) == "uncertain");
  CHECK(standing(plan, cell(CellVerdict::kLooksMet, 0)) == "met (one run)");
}

}  // namespace
}  // namespace spillway::test
