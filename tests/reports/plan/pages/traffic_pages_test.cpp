// Pages workload and scenarios of a plan's report: what they show, of plain plans and of odd ones.
#include "reports/plan/pages/pages.hpp"
#include "reports/provenance.hpp"
#include "tests/reports/markup.hpp"
#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

TEST_CASE("the page of the workload has source, rates, lengths, reuse and tenants", "[reports]") {
  const Section page = workload_page(told_plan(), told_provenance());
  CHECK(page.id == "workload");
  const Table* source = table_of(page, "Source");
  REQUIRE(source != nullptr);
  CHECK(source->rows[0] == std::vector<std::string>{"trace", "t.jsonl"});
  const std::string text = text_of(page);
  CHECK_THAT(text, ContainsSubstring("quarantined") && ContainsSubstring("feedfeedfeedfeed") &&
                       ContainsSubstring("0.5") && ContainsSubstring("drifting"));
  const std::vector<Chart> charts = charts_of(page);
  REQUIRE(charts.size() == 4);
  for (const Chart& chart : charts) CHECK_FALSE(chart.note.empty());
}

TEST_CASE("the map of arrivals has the rates of the recording", "[reports]") {
  const Chart map = charts_of(workload_page(told_plan(), told_provenance()))[0];
  CHECK(map.kind == ChartKind::kHeatmap);
  // Ten minutes by the minute; the rest of a second row is a gap.
  REQUIRE(map.cells.size() == map.y_names.size());
  REQUIRE(map.cells[0].size() == map.x_names.size());
  CHECK(map.cells[0].size() == 10);
  CHECK(map.cells[0][0] == Approx(55));
  CHECK(map.cells[0][3] == Approx(105));
  CHECK_THAT(map.note, ContainsSubstring("+3 min) has 105 requests a minute"));
}

TEST_CASE("the reuse curve is marked with what fits HBM and the tier", "[reports]") {
  const Chart reuse = charts_of(workload_page(told_plan(), told_provenance()))[1];
  CHECK(reuse.series[0].x.front() == Approx(1.0 / 16));  // 64 MiB in GiB
  CHECK(reuse.series[0].y.back() == Approx(40));
  REQUIRE_FALSE(reuse.regions.empty());
  CHECK(reuse.regions[0].name == "fits HBM");
}

TEST_CASE("a workload without blocks, sessions or rows says so", "[reports]") {
  PlanResult plan = told_plan();
  json stats = sample_stats();
  for (const char* key : {"reuse", "working_set", "tenants"}) stats.erase(key);
  plan.workload->stats = stats.dump();
  const Section page = workload_page(plan, told_provenance());
  CHECK_THAT(text_of(page), ContainsSubstring("names no blocks") &&
                                ContainsSubstring("neither sessions nor tenants"));
  CHECK(charts_of(page).size() == 2);
}

TEST_CASE("a plan that does not know its traffic says so", "[reports]") {
  CHECK_THAT(text_of(workload_page(sample_plan(), sample_provenance())),
             ContainsSubstring("does not say what its traffic is like"));
  Provenance nothing;
  CHECK_FALSE(text_of(workload_page(told_plan(), nothing)).empty());
}

TEST_CASE("the grid has every event with its verdict", "[reports]") {
  const Section page = scenarios_page(told_plan());
  CHECK(page.id == "scenarios");
  const Table* grid = table_of(page, "The SLO at 16 GiB");
  REQUIRE(grid != nullptr);
  REQUIRE(grid->rows.size() == 5);
  CHECK(grid->rows[1][1] == "met");
  CHECK(grid->rows[2][1] == "missed");
  CHECK(grid->rows[2][3] == "4.50 times the limit");
  CHECK(grid->rows[3][1] == "down");
  CHECK(grid->rows[4][1] == "not asked");
  CHECK(grid->rows[4][4] == "there is no storage");
  CHECK_THAT(text_of(page), ContainsSubstring("16 GiB still meets the SLO: in 3 months.") &&
                                ContainsSubstring("It is missed: peak x2.") &&
                                ContainsSubstring("No service at all: one host lost."));
}

TEST_CASE("what grows is said, and which cell survives where that was tried", "[reports]") {
  PlanResult plan = told_plan();
  plan.stress->rows[1].margin = 0.05;
  plan.sensitivity.emplace();
  SensitivityRow rate;
  rate.factor = "arrival rate";
  plan.sensitivity->rows = {rate};
  CHECK_THAT(text_of(scenarios_page(plan)),
             ContainsSubstring("in 3 months (barely: 5.0% left)") &&
                 ContainsSubstring("What would survive peak x2 was not tried") &&
                 ContainsSubstring("which is the same requests, sent faster"));
  PlanRegret regret;
  regret.demands = {"as it is", "peak x2"};
  regret.rows = {{1, {{"as it is", 0.0}, {"peak x2", std::nullopt}}, 0, 1},
                 {2, {{"as it is", 5.0}, {"peak x2", 0.0}}, 5, 0}};
  plan.regret = regret;
  CHECK_THAT(text_of(scenarios_page(plan)), ContainsSubstring("peak x2: the SLO is met by inf.") &&
                                                !ContainsSubstring("was not tried"));
  plan.regret->rows.pop_back();
  CHECK_THAT(text_of(scenarios_page(plan)),
             ContainsSubstring("peak x2: no size that was tried meets the SLO"));
}

TEST_CASE("margins are drawn from 0, cut off where one is huge", "[reports]") {
  const std::vector<Chart> charts = charts_of(scenarios_page(told_plan()));
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].kind == ChartKind::kTornado);
  REQUIRE(charts[0].bars.size() == 3);
  CHECK(charts[0].bars[0].low == 0);
  CHECK(charts[0].bars[0].high == Approx(31));
  CHECK(charts[0].bars[2].low == -200);
  CHECK_THAT(charts[0].note, ContainsSubstring("1 of 3 miss the SLO"));
  CHECK(charts[1].series.size() == 2);
  CHECK_THAT(charts[1].note, ContainsSubstring("After about 45.5 s"));
}

TEST_CASE("a restart that is not over by the end is told as that", "[reports]") {
  PlanResult plan = told_plan();
  plan.stress->restart->recovery_s.reset();
  CHECK_THAT(text_of(scenarios_page(plan)), ContainsSubstring("do not recover"));
}

TEST_CASE("without events the page says what would ask for them", "[reports]") {
  const std::string text = text_of(scenarios_page(sample_plan()));
  CHECK_THAT(text, ContainsSubstring("plan.stress") && ContainsSubstring("plan.demand"));
  PlanResult empty;
  CHECK_FALSE(text_of(scenarios_page(empty)).empty());
}

TEST_CASE("an undecided plan says which cell its events are about", "[reports]") {
  PlanResult plan = told_plan();
  plan.recommended = -1;
  plan.undecided = true;
  plan.provisional = 1;
  CHECK_THAT(text_of(scenarios_page(plan)), ContainsSubstring("the best so far"));
}

TEST_CASE("names of tenants and events are inert in HTML", "[reports]") {
  PlanResult plan = told_plan();
  plan.stress->rows[0].name = "<img src=x onerror=alert(1)>";
  Report report;
  report.title = "t";
  report.sections = {workload_page(plan, told_provenance()), scenarios_page(plan)};
  const std::string html = rendered(report, "html");
  CHECK(html.find("<script>alert") == std::string::npos);
  CHECK(html.find("<img src=x") == std::string::npos);
}

}  // namespace
}  // namespace spillway::test
