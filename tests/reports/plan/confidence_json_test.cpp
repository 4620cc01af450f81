// A plan's confidence and targets through JSON.
#include "reports/plan/confidence_json.hpp"

#include "reports/plan/point_json.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a plan's confidence comes back from its JSON as it went", "[reports]") {
  PlanConfidence before;
  before.level = 0.9;
  before.method = "seeds 1 to 43";
  before.runs = 91;
  before.reused = 12;
  before.stages = {10, 20};
  before.stop_reason = "decided: 64GiB holds";
  before.boundary = "smooth";
  const PlanConfidence after = confidence_from_json(to_json(before));
  CHECK(after.method == before.method);
  CHECK(after.stages == before.stages);
  CHECK(to_json(after) == to_json(before));
}

TEST_CASE("a target keeps its bound, and the lack of one", "[reports]") {
  // p99 <= 2 s: at most 1% of the requests miss; 0.4% did, and 0.9% is not ruled out.
  TargetEstimate before{"p99_ttft_ms", "gold", false, true, 2000, 1710,
                        0.004,         0.01,   0.009, true, true};
  CHECK(to_json(target_from_json(to_json(before))) == to_json(before));
  CHECK(to_json(before)["confidence_bound"] == 0.009);
  before.bound.reset();
  before.tenant.clear();
  CHECK_FALSE(to_json(before).contains("confidence_bound"));
  CHECK_FALSE(target_from_json(to_json(before)).bound);
  CHECK(target_from_json(to_json(before)).tenant.empty());
}

TEST_CASE("a cell keeps its difference to the answer, and the lack of one", "[reports]") {
  PlanPoint before;
  before.name = before.capacity = "64GiB";
  before.run = sample_run();
  CHECK_FALSE(point_from_json(to_json(before)).difference);
  before.difference = CellDifference{3, -0.125, 0.0625, 4};
  const PlanPoint after = point_from_json(to_json(before));
  REQUIRE(after.difference);
  CHECK(after.difference->to == 3);
  CHECK(to_json(after) == to_json(before));
}

}  // namespace
}  // namespace spillway::test
