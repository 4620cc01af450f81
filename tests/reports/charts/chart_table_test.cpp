// The figures behind a drawing: as tables, and thinned where there are too many.
#include "reports/charts/chart_table.hpp"

#include <limits>

#include "reports/charts/thinning.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Cells = std::vector<std::string>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("series over the same places stand beside each other", "[reports]") {
  Chart chart;
  chart.title = "TTFT";
  chart.x_label = "size";
  chart.y_label = "ms";
  chart.x_names = {"16 GiB", "32 GiB"};
  chart.series = {{"p50", {0, 1}, {10, 5}}, {"p99", {0, 1}, {100, kNan}, {90, 40}, {110, 60}}};
  const Table table = chart_table(chart);
  CHECK(table.title == "TTFT");
  CHECK(table.header == Cells{"size", "p50 (ms)", "p99 (ms)", "p99, low", "p99, high"});
  CHECK(table.rows ==
        Rows{{"16 GiB", "10.0", "100", "90.0", "110"}, {"32 GiB", "5.00", "-", "40.0", "60.0"}});
}

TEST_CASE("series over places of their own stand below each other", "[reports]") {
  Chart chart;
  chart.series = {{"a", {1}, {2}}, {"b", {3, 4}, {5}}};
  const Table table = chart_table(chart);
  CHECK(table.header == Cells{"series", "x", "y"});
  CHECK(table.rows == Rows{{"a", "1.00", "2.00"}, {"b", "3.00", "5.00"}, {"b", "4.00", "-"}});
}

TEST_CASE("the other kinds have tables too", "[reports]") {
  Chart chart;
  chart.kind = ChartKind::kTornado;
  chart.bars = {{"rate", -1, 2, "x 0.8", "x 1.2"}};
  CHECK(chart_table(chart).rows == Rows{{"rate", "x 0.8", "-1.00", "x 1.2", "2.00"}});
  chart.kind = ChartKind::kStacks;
  chart.unit = "ms";
  chart.part_names = {"queue", "load"};
  chart.stacks = {{"all", {1}}};
  CHECK(chart_table(chart).header == Cells{"bar", "queue (ms)", "load (ms)"});
  CHECK(chart_table(chart).rows == Rows{{"all", "1.00", "-"}});
  chart.kind = ChartKind::kHeatmap;
  chart.x_label = "minute";
  chart.y_names = {"h2d", "d2h"};
  chart.x_names = {"0", "1"};
  chart.cells = {{10, 20}, {30}};
  CHECK(chart_table(chart).header == Cells{"minute", "h2d (ms)", "d2h (ms)"});
  CHECK(chart_table(chart).rows == Rows{{"0", "10.0", "30.0"}, {"1", "20.0", "-"}});
}

TEST_CASE("a chart of nothing has a table without rows", "[reports]") {
  for (const ChartKind kind : {ChartKind::kLines, ChartKind::kScatter, ChartKind::kTornado,
                               ChartKind::kStacks, ChartKind::kHeatmap}) {
    Chart chart;
    chart.kind = kind;
    CHECK(chart_table(chart).rows.empty());
    CHECK(thinned(chart, 10).note == "");
  }
}

TEST_CASE("thinning keeps the ends, the highest and the lowest", "[reports]") {
  Chart chart;
  ChartSeries series{"line", {}, {}};
  for (int i = 0; i < 100'000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 31'415 ? 1e6 : i == 92'653 ? -1e6 : i % 10);
  }
  chart.series = {series, series};
  const Thinned thin = thinned(chart, 300);
  const ChartSeries& left = thin.chart.series[0];
  CHECK(left.x.size() <= 302);
  CHECK(left.x.size() == left.y.size());
  CHECK(std::is_sorted(left.x.begin(), left.x.end()));
  CHECK(left.x.front() == 0);
  CHECK(left.x.back() == 99'999);
  CHECK(std::count(left.x.begin(), left.x.end(), 31'415) == 1);
  CHECK(std::count(left.x.begin(), left.x.end(), 92'653) == 1);
  CHECK_THAT(thin.note, ContainsSubstring("Of 200,000 points "));
  CHECK(thin.chart.series[1].x == left.x);
}

TEST_CASE("series over the same places are thinned at the same places", "[reports]") {
  Chart chart;
  ChartSeries up{"up", {}, {}, {}, {}};
  ChartSeries wave{"wave", {}, {}};
  for (int i = 0; i < 5'000; ++i) {
    up.x.push_back(i);
    up.y.push_back(i);
    up.low.push_back(i - 1);
    up.high.push_back(i + 1);
    wave.x.push_back(i);
    wave.y.push_back(i * 7'919 % 1'000);
  }
  chart.series = {up, wave};
  const Thinned thin = thinned(chart, 100);
  const ChartSeries& left = thin.chart.series[0];
  CHECK(left.x == thin.chart.series[1].x);
  CHECK(left.low.size() == left.x.size());
  CHECK(left.x.size() <= 102);
  CHECK(chart_table(thin.chart).rows.size() == left.x.size());
}

TEST_CASE("few points, and gaps in many, stay", "[reports]") {
  Chart chart;
  chart.series = {{"few", {1, 2, 3}, {1, kNan, 3}}};
  CHECK(thinned(chart, 10).chart.series[0].x == std::vector<double>{1, 2, 3});
  CHECK(thinned(chart, 10).note == "");
  ChartSeries gap{"gap", {}, {}};
  for (int i = 0; i < 1'000; ++i) {
    gap.x.push_back(i);
    gap.y.push_back(i < 300 || i > 700 ? 1 : kNan);
  }
  chart.series = {gap};
  const ChartSeries left = thinned(chart, 20).chart.series[0];
  CHECK(std::any_of(left.y.begin(), left.y.end(), [](double y) { return y != y; }));
}

TEST_CASE("columns of a heatmap are joined and show the highest", "[reports]") {
  Chart chart;
  chart.kind = ChartKind::kHeatmap;
  chart.cells = {{1, 5, 2, kNan, kNan, kNan}};
  chart.x_names = {"0", "1", "2", "3", "4", "5"};
  const Thinned thin = thinned(chart, 3);
  REQUIRE(thin.chart.cells[0].size() == 3);
  CHECK(thin.chart.cells[0][0] == 5);
  CHECK(thin.chart.cells[0][1] == 2);
  CHECK(thin.chart.cells[0][2] != thin.chart.cells[0][2]);
  CHECK(thin.chart.x_names == Cells{"0", "2", "4"});
  CHECK_THAT(thin.note, ContainsSubstring("Of 6 columns"));
}

TEST_CASE("what no page has room for is left out and counted", "[reports]") {
  Chart chart;
  chart.series.assign(100, {"s", {1}, {1}});
  const Thinned thin = thinned(chart, 10);
  CHECK(thin.chart.series.size() == 24);
  CHECK_THAT(thin.note, ContainsSubstring("The first 24 of 100 series are drawn."));
}

}  // namespace
}  // namespace spillway::test
