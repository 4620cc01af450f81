// Parts of a plan through their documents and back.
#include "reports/plan/plan_fields.hpp"

#include "reports/fields/read.hpp"
#include "reports/fields/write.hpp"
#include "reports/plan/plan_json.hpp"
#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// Written, read and written again.
template <class Row>
json there_and_back(const Row& row) {
  return to_document(read_document<Row>(to_document(row)));
}

TEST_CASE("a plan's confidence comes back from its document, its cost beside it", "[reports]") {
  PlanResult plan = sample_plan();
  plan.confidence.emplace();
  plan.confidence->level = 0.9;
  plan.confidence->method = "seeds 1 to 43";
  plan.confidence->runs = 91;
  plan.confidence->reused = 12;
  plan.confidence->stages = {10, 20};
  plan.confidence->stop_reason = "decided: 64GiB holds";
  plan.confidence->boundary = "smooth";
  const json written = to_json(plan);
  CHECK(written["sim"] == json({{"runs_reused", 12}}));
  const PlanResult after = plan_from_json(written);
  REQUIRE(after.confidence);
  CHECK(after.confidence->stages == plan.confidence->stages);
  CHECK(to_json(after) == written);
  json without = written;
  without.erase("sim");
  CHECK_THROWS_AS(plan_from_json(without), json::exception);
}

TEST_CASE("a target keeps its bound, and the lack of one", "[reports]") {
  // p99 <= 2 s: at most 1% of the requests miss; 0.4% did, and 0.9% is not ruled out.
  TargetEstimate before{"p99_ttft_ms", "gold", false, true, 2000, 1710,
                        0.004,         0.01,   0.009, true, true};
  CHECK(there_and_back(before) == to_document(before));
  CHECK(to_document(before)["confidence_bound"] == 0.009);
  before.bound.reset();
  before.tenant.clear();
  const json without = to_document(before);
  CHECK_FALSE(without.contains("confidence_bound"));
  CHECK_FALSE(without.contains("tenant"));
  CHECK(there_and_back(before) == without);
}

TEST_CASE("a cell keeps its difference to the answer, and the lack of one", "[reports]") {
  PlanPoint before;
  before.name = before.capacity = "64GiB";
  before.run = sample_run();
  CHECK_FALSE(to_document(before).contains("difference"));
  CHECK_FALSE(to_document(before).contains("standstill"));
  CHECK(there_and_back(before) == to_document(before));
  before.difference = CellDifference{3, -0.125, 0.0625, 4};
  before.standstill = {1, 3, true, "two requests wait for each other"};
  before.values = {{"tiers.0.eviction", "lru"}, {"engine.max_num_seqs", "64"}};
  const json written = to_document(before);
  CHECK(written["difference"]["to_index"] == 3);
  CHECK(written["values"][1] == json({{"key", "engine.max_num_seqs"}, {"value", "64"}}));
  CHECK(there_and_back(before) == written);
}

TEST_CASE("what a change costs more stands in the change, or nowhere", "[reports]") {
  TriedChange change;
  change.kind = ChangeKind::kTensorParallel;
  CHECK_FALSE(to_document(change).contains("currency"));
  CHECK_FALSE(read_document<TriedChange>(to_document(change)).more);
  change.more = MoreCost{-876, "USD"};
  json written = to_document(change);
  CHECK(written["more_per_month"] == -876);
  CHECK(written["kind"] == "tensor-parallel");
  CHECK(written["free"] == false);
  CHECK(there_and_back(change) == written);
  written.erase("currency");
  CHECK_THROWS_AS(read_document<TriedChange>(written), json::exception);
}

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
  json stress = to_document(*told_plan().stress);
  stress["rows"][0]["outcome"] = "perhaps";
  CHECK_THROWS_AS(read_document<PlanStress>(stress), json::exception);
}

TEST_CASE("columns of a restart that differ in length are cut to the shortest", "[reports]") {
  json stress = to_document(*told_plan().stress);
  stress["restart"]["cold"] = {0.5};
  CHECK(read_document<PlanStress>(stress).restart->at_s.size() == 1);
}

}  // namespace
}  // namespace spillway::test
