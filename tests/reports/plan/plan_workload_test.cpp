// What a plan's workload gives its pages.
#include "reports/plan/plan_workload.hpp"

#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

TEST_CASE("the reuse curve over bytes is that over blocks, scaled", "[reports]") {
  const auto series = reuse_over_bytes(told_plan());
  REQUIRE(series);
  CHECK(series->x ==
        std::vector<double>{64.0 * 1024 * 1024, 640.0 * 1024 * 1024, 6400.0 * 1024 * 1024});
  CHECK(series->y == std::vector<double>{0.4, 4, 40});
  CHECK_FALSE(reuse_over_bytes(sample_plan()));
  PlanResult blockless = told_plan();
  json stats = sample_stats();
  stats.erase("reuse");
  blockless.workload->stats = stats.dump();
  CHECK_FALSE(reuse_over_bytes(blockless));
}

TEST_CASE("what a cell's caches hold is its largest tier", "[reports]") {
  PlanPoint point;
  CHECK(cache_bytes(point) == 0);
  point.run.tiers.resize(2);
  point.run.tiers[0].capacity_bytes = 10;
  point.run.tiers[1].capacity_bytes = 30;
  CHECK(cache_bytes(point) == 30);
  point.run.tiers[1].unbounded = true;
  CHECK(std::isinf(cache_bytes(point)));
}

}  // namespace
}  // namespace spillway::test
