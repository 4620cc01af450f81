// Cost, regret and sensitivity in a plan's document and report.
#include "reports/charts/svg_chart.hpp"
#include "reports/plan/cost_report.hpp"
#include "reports/plan/plan_json.hpp"
#include "reports/plan/sensitivity_report.hpp"
#include "tests/reports/markup.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

PlanResult priced_plan() {
  PlanResult plan = sample_plan();
  plan.recommended = 1;
  PlanCost cost;
  cost.currency = "USD";
  cost.source = "a list";
  cost.items = {{"L40S", 1, "GPU", 730, 730}, {"dram", 64, "GiB", 0.5, 32}};
  cost.cells = {{0, 730, 1.5, 1000, true}, {1, 762, std::nullopt, 1100, false}};
  cost.break_even = BreakEven{"dram", 1460, 50, "One GPU costs as much as 1,460 GiB"};
  cost.wear = {{"ssd", 1e12, 0.5, 3.25}, {"other", 5, std::nullopt, std::nullopt}};
  cost.notes = {"a note"};
  plan.cost = cost;
  PlanRegret regret;
  regret.measure = "USD a month";
  regret.demands = {"as it is", "peak"};
  regret.rows = {{1, {{"as it is", 32.0}, {"peak", 0.0}}, 32, 0},
                 {0, {{"as it is", 0.0}, {"peak", std::nullopt}}, 0, 1}};
  regret.says = "Over all demands 64GiB regrets least";
  plan.regret = regret;
  Sensitivity sensitivity;
  sensitivity.margin = 0.25;
  sensitivity.needed = "64GiB";
  sensitivity.replicates = 1;
  sensitivity.runs = 42;
  SensitivityRow row;
  row.factor = "link <bandwidth>";
  row.low.factor = 0.8;
  row.high.factor = 1.2;
  row.low.margin = -7.5;
  row.high.margin = 0.4;
  row.high.met = true;
  row.low.needed = "none";
  row.changes_below = 0.9;
  row.says = "The recommendation changes if link bandwidth falls below 0.9";
  sensitivity.rows = {row};
  sensitivity.notes = {"one replicate"};
  plan.sensitivity = sensitivity;
  return plan;
}

TEST_CASE("cost, regret and sensitivity survive the way to JSON and back", "[reports]") {
  const PlanResult plan = priced_plan();
  const nlohmann::json written = to_json(plan);
  CHECK(to_json(plan_from_json(written)) == written);
  const nlohmann::json& cost = written["cost"];
  CHECK(cost["cells"][1].contains("per_million_tokens") == false);
  CHECK(cost["wear"][0]["life_years"] == 3.25);
  CHECK(written["regret"]["rows"][1]["by_demand"][1] ==
        nlohmann::json({{"demand", "peak"}, {"met", false}}));
}

TEST_CASE("the report shows prices, demands and limits", "[reports]") {
  const PlanResult plan = priced_plan();
  const Section cost = cost_section(plan);
  CHECK(cost.paragraphs[0] == "Cost: 762 USD a month");
  CHECK(cost.tables[1].rows[0][2] == "1.50");
  CHECK(cost.tables[1].rows[1][2] == "-");
  CHECK(cost.tables[1].highlight == 1);
  CHECK(cost.tables[2].rows[1][3] == "not known");
  const Section regret = regret_section(plan);
  CHECK(regret.tables[0].rows[1][2] == "misses");
  CHECK(regret.tables[0].highlight == 0);
  const Section sensitivity = sensitivity_section(plan);
  CHECK(sensitivity.parts.at(0).paragraphs.at(0) ==
        "The recommendation changes if link bandwidth falls below 0.9");
  CHECK(sensitivity.tables[0].rows[0].back() == "below 0.9: 0.8 misses");
  CHECK(sensitivity.tables[0].rows[0][2] == "missed (8.50 times the limit)");
  CHECK(cost_sentences(plan).size() == 2);
  CHECK(sensitivity_sentences(plan, 0).empty());
}

TEST_CASE("a tornado has two bars a factor, within the drawing and cut off where one is huge",
          "[reports]") {
  const Section section = sensitivity_section(priced_plan());
  REQUIRE(section.charts.size() == 1);
  CHECK(section.charts[0].bars[0].low == -200);
  const std::string svg = svg_chart(section.charts[0]);
  const Markup markup = read_markup(svg);
  CHECK(markup.problem == "");
  CHECK_THAT(svg, ContainsSubstring("link &lt;bandwidth&gt;"));
  std::size_t bars = 0;
  for (const Element& element : markup.elements) {
    if (element.name != "rect") continue;
    ++bars;
    const double x = std::stod(element.attribute("x"));
    const double width = std::stod(element.attribute("width"));
    CHECK(x >= 0);
    CHECK(width > 0);
    CHECK(x + width <= 720);
  }
  CHECK(bars == 2);
  Chart nothing;
  nothing.kind = ChartKind::kTornado;
  nothing.bars = {{"nan", std::nan(""), 1, "", ""}};
  CHECK(svg_chart(nothing).empty());
}

}  // namespace
}  // namespace spillway::test
