// Curves in characters.
#include "reports/charts/text_chart.hpp"

#include <cmath>

#include "reports/plan/knee_curve.hpp"
#include "reports/renderers/table_layout.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Lines = std::vector<std::string>;

/// 400, 300, 200, 100, 0 at five sizes, target 100 at most, the fourth marked.
Chart falling() {
  Chart chart;
  chart.title = "p99 by size";
  chart.x_label = "size";
  chart.y_label = "p99";
  chart.x_names = {"0GiB", "1GiB", "2GiB", "3GiB", "4GiB"};
  chart.series = {{"p99", {0, 1, 2, 3, 4}, {400, 300, 200, 100, 0}}};
  chart.limits = {{"target", 100}};
  chart.regions = {{"recommended", 3, 3}};
  return chart;
}

TEST_CASE("a curve stands between its axes with limit and mark", "[reports]") {
  const Lines lines = text_chart(falling(), {40, false});
  CHECK(lines ==
        Lines{"p99 by size", "400 |*.", "    |  ....", "    |      ..*....",
              "    |             ....*.", "    |                   ....",
              "100 |- - - - - - - - - - - -..*... - -", "  0 |                             ....*",
              "    +----------------------------------", "     0GiB  1GiB     2GiB    3GiB   4GiB",
              "                  recommended ^", "     p99 by size; -- target"});
}

TEST_CASE("a drawing has twelve lines at most and is as wide as it may", "[reports]") {
  for (const bool unicode : {false, true}) {
    for (const std::size_t width : {30UL, 60UL, 72UL, 200UL}) {
      const Lines lines = text_chart(falling(), {width, unicode});
      INFO(width);
      CHECK(lines.size() <= 12);
      for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
        INFO(lines[i]);
        CHECK(display_width(lines[i]) <= width);
      }
    }
  }
}

TEST_CASE("without Unicode every character is ASCII", "[reports]") {
  for (const std::string& line : text_chart(falling(), {72, false})) {
    for (const char c : line) CHECK((c >= ' ' && c <= '~'));
  }
  const Lines dots = text_chart(falling(), {72, true});
  CHECK_THAT(dots[1], ContainsSubstring("●"));
  CHECK(std::any_of(dots.begin(), dots.end(),
                    [](const std::string& l) { return l.find("▲ recommended") != l.npos; }));
}

TEST_CASE("what cannot be drawn is left out, not drawn wrongly", "[reports]") {
  CHECK(text_chart(Chart{}, {}).empty());
  Chart one = falling();
  one.series = {{"p99", {0}, {1}}};
  CHECK(text_chart(one, {}).empty());
  Chart bars = falling();
  bars.kind = ChartKind::kStacks;
  CHECK(text_chart(bars, {}).empty());
  Chart gaps = falling();
  gaps.series[0].y = {400, std::nan(""), 200, INFINITY, 0};
  const Lines lines = text_chart(gaps, {40, false});
  REQUIRE(lines.size() > 7);
  CHECK(lines[1].starts_with("400 |*"));
  Chart flat = falling();
  flat.log_y = true;
  flat.series[0].y = {5, 5, 5, 5, 5};
  flat.limits.clear();
  CHECK_FALSE(text_chart(flat, {}).empty());
  Chart zero = falling();
  zero.log_y = true;
  zero.series[0].y = {0, 0, -1, 0, 0};
  zero.limits.clear();
  CHECK(text_chart(zero, {}).empty());
}

TEST_CASE("names in a drawing are made harmless", "[reports]") {
  Chart chart = falling();
  chart.title = "\x1b]0;owned\x07";
  chart.x_names[2] = "\x1b[2J";
  chart.limits[0].first = "\x1b[31m";
  for (const std::string& line : text_chart(chart, {72, true}))
    CHECK(line.find('\x1b') == std::string::npos);
}

/// Sizes 0, 1, 2, 4 GiB; TTFT falls from 4,000 to 1,000 with a target of 2,000, TPOT is far below.
PlanResult four_sizes() {
  PlanResult plan = sample_plan();
  const PlanPoint model = plan.points.front();
  plan.points.clear();
  const double ttft[] = {4000, 3000, 1500, 1000};
  const char* names[] = {"0GiB", "1GiB", "2GiB", "4GiB"};
  const std::int64_t sizes[] = {0, 1, 2, 4};
  for (int i = 0; i < 4; ++i) {
    PlanPoint point = model;
    point.name = point.capacity = names[i];
    point.capacity_bytes = sizes[i] << 30;
    point.unbounded = false;
    point.values.clear();
    point.run.slo = {{"p99_tpot_ms", false, 100, 10, true}, {"p99_ttft_ms", false, 2000, ttft[i]}};
    plan.points.push_back(point);
  }
  plan.recommended = 2;
  return plan;
}

TEST_CASE("the knee curve is of the tightest target of the answer", "[reports]") {
  const auto chart = knee_curve(four_sizes());
  REQUIRE(chart);
  CHECK(chart->series[0].y == std::vector<double>{4000, 3000, 1500, 1000});
  CHECK(chart->x_names == Lines{"0GiB", "1GiB", "2GiB", "4GiB"});
  REQUIRE(chart->limits.size() == 1);
  CHECK(chart->limits[0].second == 2000);
  REQUIRE(chart->regions.size() == 1);
  CHECK(chart->regions[0].from == 2);
  CHECK_FALSE(chart->log_y);
}

TEST_CASE("the knee curve is of one line of cells, by size", "[reports]") {
  PlanResult plan = four_sizes();
  plan.points[1].values = {{"engine.eviction", "fifo"}};  // of another line
  std::swap(plan.points[0], plan.points[3]);
  plan.recommended = 2;
  const auto chart = knee_curve(plan);
  REQUIRE(chart);
  CHECK(chart->x_names == Lines{"0GiB", "2GiB", "4GiB"});
  CHECK(chart->series[0].y == std::vector<double>{4000, 1500, 1000});
}

TEST_CASE("two sizes, no target and no answer have their own curves, or none", "[reports]") {
  PlanResult plan = four_sizes();
  plan.recommended = -1;
  REQUIRE(knee_curve(plan));
  CHECK(knee_curve(plan)->regions.empty());
  for (PlanPoint& point : plan.points) point.run.slo.clear();
  CHECK_FALSE(knee_curve(plan));
  plan = four_sizes();
  plan.points.resize(2);
  plan.recommended = 0;
  CHECK_FALSE(knee_curve(plan));
  CHECK_FALSE(knee_curve(PlanResult{}));
}

}  // namespace
}  // namespace spillway::test
