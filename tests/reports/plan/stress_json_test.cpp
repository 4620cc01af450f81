// Traffic and events of a plan survive the way to JSON and back.
#include "reports/plan/stress_json.hpp"

#include "reports/plan/plan_json.hpp"
#include "reports/plan/plan_workload.hpp"
#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

TEST_CASE("a plan's traffic and events survive the way to JSON and back", "[reports]") {
  const PlanResult plan = told_plan();
  const json written = to_json(plan);
  CHECK(to_json(plan_from_json(json::parse(written.dump()))) == written);
  CHECK(written["stress"]["rows"][2]["outcome"] == "missed");
  CHECK(written["stress"]["rows"][3].contains("target") == false);
  CHECK(written["stress"]["rows"][4]["outcome"] == "not-asked");
  CHECK(written["stress"]["restart"]["recovery_s"] == 45.5);
  CHECK(written["workload"]["stats"]["requests"] == 600);
  CHECK(to_json(sample_plan()).contains("stress") == false);
  CHECK(to_json(sample_plan()).contains("workload") == false);
}

TEST_CASE("an event whose outcome nobody knows is an error of the document", "[reports]") {
  json stress = to_json(*told_plan().stress);
  stress["rows"][0]["outcome"] = "perhaps";
  CHECK_THROWS_AS(stress_from_json(stress), json::exception);
}

TEST_CASE("columns of a restart that differ in length are cut to the shortest", "[reports]") {
  json stress = to_json(*told_plan().stress);
  stress["restart"]["cold"] = {0.5};
  CHECK(stress_from_json(stress).restart->at_s.size() == 1);
}

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
