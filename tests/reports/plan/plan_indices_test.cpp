// A plan that somebody edited: every index of a cell is checked where it is read, so that nothing
// is looked up beyond the cells.
#include <nlohmann/json.hpp>

#include "reports/document_fault.hpp"
#include "reports/plan/plan_json.hpp"
#include "reports/plan/plan_report.hpp"
#include "tests/reports/plan/plan_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// Every index that a document can hold is in it.
json indexed_plan() {
  PlanResult plan = once_plan();
  plan.provisional = 1;
  plan.runner_up = 2;
  for (PlanPoint& point : plan.points) point.difference = CellDifference{3, -0.1, 0.05, 4};
  plan.cost.emplace();
  plan.regret.emplace();
  plan.regret->demands = {"now", "later"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    plan.cost->cells.push_back({i, 100, std::nullopt, 1, true, false});
    plan.regret->rows.push_back({i, {{"now", 0.5}, {"later", std::nullopt}}, 0.5, 1});
  }
  return to_json(plan);
}

void collect(const json& value, const std::string& at, std::vector<std::string>& out) {
  if (!value.is_structured()) return;
  for (const auto& item : value.items()) {
    const std::string& key = item.key();
    const bool names_a_cell = key.ends_with("_index") || key == "point";
    if (names_a_cell && item.value().is_number_integer()) out.push_back(at + "/" + key);
    collect(item.value(), at + "/" + key, out);
  }
}

std::string fault_of(const json& document) {
  try {
    plan_from_json(document);
  } catch (const json::exception& error) {
    return error.id == kDocumentFault ? fault_text(error) : error.what();
  }
  return "";
}

TEST_CASE("an index beyond the cells of a plan is refused by its name", "[reports]") {
  const json good = indexed_plan();
  CHECK(fault_of(good).empty());
  std::vector<std::string> places;
  collect(good, "", places);
  CHECK(places.size() == 6 + 3 * 4);  // named cells, and each cell's difference, cost and regret
  for (const std::string& place : places) {
    std::string field = "results" + place;
    std::replace(field.begin(), field.end(), '/', '.');
    for (const json& wrong : {json(4), json(-1), json(1LL << 40), json(~std::uint64_t{0}),
                              json(1.5), json("1"), json(), json::array()}) {
      json document = good;
      document[json::json_pointer(place)] = wrong;
      INFO(place << " " << wrong.dump());
      CHECK_THAT(fault_of(document),
                 StartsWith(field + ": expected the index of one of 4 cells (points), found "));
    }
    json document = good;
    document[json::json_pointer(place)] = 0;
    CHECK(fault_of(document).empty());
  }
}

TEST_CASE("regrets stand for the demands of a plan, one for each", "[reports]") {
  json document = indexed_plan();
  document["regret"]["rows"][1]["by_demand"].erase(0);
  CHECK(fault_of(document) ==
        "results.regret.rows.1.by_demand: expected 2 entries, one for each of demands, found 1");
}

TEST_CASE("a plan whose indices are moved within their range still has a report", "[reports]") {
  const json good = indexed_plan();
  std::vector<std::string> places;
  collect(good, "", places);
  for (const std::string& place : places) {
    for (int cell = 0; cell < 4; ++cell) {
      json document = good;
      document[json::json_pointer(place)] = cell;
      INFO(place << " " << cell);
      const PlanResult plan = plan_from_json(document);
      CHECK_FALSE(rendered(plan_report(plan, sample_provenance()), "html").empty());
    }
  }
}

}  // namespace
}  // namespace spillway::test
