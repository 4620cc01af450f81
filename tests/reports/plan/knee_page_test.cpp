// Size against outcome: one line for each combination of searched values, bands and limits where
// the plan has them, and what each step in size buys.
#include <cmath>

#include "reports/plan/pages/pages.hpp"
#include "reports/plan/pages/size_grid.hpp"
#include "tests/reports/plan/plan_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

Chart chart_of(const Section& page, const std::string& title) {
  const auto at = std::find_if(page.charts.begin(), page.charts.end(),
                               [&](const Chart& c) { return c.title == title; });
  if (at == page.charts.end()) throw std::runtime_error("no chart " + title);
  return *at;
}

bool has_region(const Chart& chart, const std::string& name) {
  return std::any_of(chart.regions.begin(), chart.regions.end(),
                     [&](const ChartRegion& r) { return r.name == name; });
}

TEST_CASE("every chart of sizes says what to see, and marks the recommended size", "[reports]") {
  const Section page = knee_page(backed_plan());
  CHECK(page.charts.size() == 6);
  for (const Chart& chart : page.charts) {
    INFO(chart.title);
    CHECK(chart.x_names == std::vector<std::string>{"0 GiB", "16 GiB", "32 GiB", "64 GiB"});
    CHECK(chart.note.ends_with("."));
    REQUIRE(has_region(chart, "recommended, knee"));
    CHECK(chart.regions[0].from < 3);
    CHECK(chart.regions[0].to > 3);
  }
  const Chart ttft = chart_of(page, "Time to first token");
  CHECK(ttft.note == "p99: 5.00 s at 0 GiB, 800 ms at 64 GiB; limit of p99 TTFT 100 ms.");
  CHECK(ttft.limits.size() == 1);
}

TEST_CASE("a band reaches from the mean to its bound, and is said to be one-sided", "[reports]") {
  const Chart chart = chart_of(knee_page(backed_plan()), "Requests within SLO");
  const ChartSeries& series = chart.series.at(0);
  CHECK(series.y.at(3) == Approx(99.9));
  CHECK(series.low.at(3) == Approx(99.5));
  CHECK(series.high == series.y);
  CHECK_THAT(chart.note, ContainsSubstring("lower bound with 95% confidence"));
  CHECK(chart.y_from == 95);  // where it decides
}

TEST_CASE("single runs have no band, and no chart of what only replicates tell", "[reports]") {
  const Section page = knee_page(once_plan());
  CHECK(page.charts.size() == 6);
  for (const Chart& chart : page.charts) {
    for (const ChartSeries& series : chart.series) CHECK(series.low.empty());
  }
}

TEST_CASE("tokens are told by the tier that supplied them", "[reports]") {
  const Chart hits = chart_of(knee_page(backed_plan()), "Prompt tokens from caches");
  REQUIRE(hits.series.size() == 3);
  CHECK(hits.series[2].name == "dram");
  CHECK(hits.series[2].y == std::vector<double>{0, 8, 16, 24});
}

TEST_CASE("each step in size has its price in latency", "[reports]") {
  const Section page = knee_page(backed_plan());
  REQUIRE(page.parts.size() == 1);
  const Table& table = page.parts[0].tables.at(0);
  REQUIRE(table.rows.size() == 3);
  // 2,100 to 800 ms for 32 GiB more: 40.6 ms less for each.
  CHECK(table.rows[2] == std::vector<std::string>{"32 GiB", "64 GiB", "32.0", "2.10 s to 800 ms",
                                                  "40.6", "76.0% to 84.0%", "15.5"});
  CHECK(table.highlight == 2);
}

TEST_CASE("sizes with a busy link are shaded as one region", "[reports]") {
  PlanResult plan = backed_plan();
  plan.points[2].run.links[1].busy_fraction = 0.85;
  plan.points[3].run.links[1].busy_fraction = 0.9;
  plan.points[1].run.links[1].busy_fraction = 0.8;
  const Chart chart = knee_page(plan).charts.at(0);
  REQUIRE(has_region(chart, "link h2d busy over 80%"));
  CHECK(chart.regions[0].from == 1.5);
  CHECK(chart.regions[0].to == 3.5);
}

TEST_CASE("where larger sizes do worse the page says so and shades them", "[reports]") {
  PlanResult plan = backed_plan();
  plan.confidence->boundary = "non_monotone";
  plan.points[2].verdict = CellVerdict::kMet;
  plan.points[2].feasible = true;
  plan.points[3].verdict = CellVerdict::kMissed;
  plan.points[3].feasible = false;
  plan.recommended = plan.knee = 2;
  const Section page = knee_page(plan);
  CHECK(has_region(page.charts.at(0), "larger, and misses"));
  CHECK_THAT(page.paragraphs.at(1), StartsWith("Larger is not always better here"));
}

TEST_CASE("searched values are lines over size, not one long list", "[reports]") {
  const PlanResult plan = searched_plan();
  const Section page = knee_page(plan);
  const Chart ttft = chart_of(page, "Time to first token, p99");
  CHECK(ttft.x_names.size() == 4);
  REQUIRE(ttft.series.size() == 3);
  CHECK(ttft.series[1].name == "arc");
  CHECK(ttft.series[1].y.size() == 4);
  CHECK_THAT(ttft.note, StartsWith("p99 with arc: "));
  // A band for each would hide the lines: only the answer's has one.
  const Chart shares = chart_of(page, "Requests within SLO");
  CHECK(shares.series[0].low.empty());
  CHECK(shares.series[1].low.size() == 4);
}

TEST_CASE("of many lines those near the answer are drawn, the others are counted", "[reports]") {
  PlanResult plan = searched_plan(30);
  const SizeGrid grid = size_grid(plan);
  CHECK(grid.lines.size() == 8);
  CHECK(grid.left_out == 22);
  CHECK(grid.answer_line().name == "arc");
  CHECK_THAT(knee_page(plan).paragraphs.back(), StartsWith("22 more configurations"));
}

TEST_CASE("at one size the searched values go from left to right", "[reports]") {
  PlanResult plan = searched_plan();
  std::vector<PlanPoint> one;
  for (const PlanPoint& point : plan.points) {
    if (point.capacity == "64GiB") one.push_back(point);
  }
  plan.points = one;
  plan.recommended = plan.feasible_min = 1;
  plan.knee = plan.infeasible_max = -1;
  const Section page = knee_page(plan);
  CHECK(page.heading == "Searched values against outcome");
  CHECK(page.charts.at(0).x_names == std::vector<std::string>{"lru", "arc", "s3fifo"});
  CHECK(page.charts.at(0).x_label == "tiers.0.eviction");
  CHECK(page.parts.empty());
}

TEST_CASE("one cell, none, or cells that did not run are told apart", "[reports]") {
  PlanResult plan = backed_plan();
  plan.points.resize(1);
  plan.recommended = plan.knee = plan.feasible_min = plan.infeasible_max = -1;
  CHECK(knee_page(plan).charts.empty());
  CHECK_THAT(knee_page(plan).paragraphs.at(0), StartsWith("One size alone was tried, 0 GiB"));
  CHECK(knee_page(PlanResult()).paragraphs.at(0) == "No size was tried.");
  PlanResult cold = backed_plan();
  cold.points[0].run = RunResult();
  cold.points[0].verdict = CellVerdict::kExcluded;
  const Chart ttft = chart_of(knee_page(cold), "Time to first token");
  CHECK(std::isnan(ttft.series.at(0).y.at(0)));
  CHECK_THAT(ttft.note, StartsWith("p99: 3.00 s at 16 GiB, 800 ms at 64 GiB"));
}

}  // namespace
}  // namespace spillway::test
