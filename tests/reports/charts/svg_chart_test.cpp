// Charts: every coordinate is a finite number inside the drawing, whatever the values are.
#include "reports/charts/svg_chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/reports/markup.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// The numbers of a path: "M1 2L3 4" is 1, 2, 3, 4.
std::vector<double> numbers_of(std::string text) {
  for (char& c : text) c = c == 'M' || c == 'L' || c == 'z' ? ' ' : c;
  std::istringstream in(text);
  std::vector<double> out;
  for (std::string word; in >> word;) out.push_back(std::stod(word));
  return out;
}

/// Coordinates in the order they are drawn, as (x, y).
std::vector<std::pair<double, double>> points_of(const Markup& markup, const std::string& name) {
  std::vector<std::pair<double, double>> out;
  for (const Element& element : markup.elements) {
    if (element.name != name) continue;
    const auto add = [&](const char* x, const char* y) {
      out.emplace_back(std::stod(element.attribute(x)), std::stod(element.attribute(y)));
    };
    if (name == "circle") add("cx", "cy");
    if (name == "text" && !element.attribute("x").empty()) add("x", "y");
    if (name == "line") add("x1", "y1"), add("x2", "y2");
    // Lines and edges of bands; marks are paths too.
    const std::string css = element.attribute("class");
    if (name == "path" && (css.starts_with('s') || css.starts_with("band"))) {
      const std::vector<double> numbers = numbers_of(element.attribute("d"));
      for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
        out.emplace_back(numbers[i], numbers[i + 1]);
      }
    }
  }
  return out;
}

Chart chart_of(const std::vector<double>& x, const std::vector<double>& y) {
  Chart chart;
  chart.title = "title";
  chart.x_label = "time (s)";
  chart.y_label = "ms";
  chart.points = true;
  chart.series.push_back({"line", x, y});
  return chart;
}

/// Draws, and checks that the drawing is well formed and stays inside its view box.
Markup drawn(const Chart& chart) {
  const std::string svg = svg_chart(chart);
  INFO(svg);
  const Markup markup = read_markup(svg);
  CHECK(markup.problem == "");
  REQUIRE(!markup.elements.empty());
  const std::string view = markup.elements[0].attribute("viewBox");
  CHECK_THAT(view, Catch::StartsWith("0 0 720 "));
  const double height = std::stod(view.substr(8));
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(svg.size() < 200'000);
  for (const char* name : {"path", "circle", "line", "text"}) {
    for (const auto& [x, y] : points_of(markup, name)) {
      const bool inside = x >= 0 && x <= 720 && y >= 0 && y <= height;
      if (!inside) FAIL_CHECK(name << " at " << x << " " << y);
    }
  }
  return markup;
}

TEST_CASE("equal ratios lie equally far apart on a logarithmic axis", "[reports]") {
  Chart chart = chart_of({0, 1, 10, 100, 1000}, {1, 1, 1, 1, 1});
  chart.log_x = true;
  const auto points = points_of(drawn(chart), "circle");
  REQUIRE(points.size() == 4);  // 0 has no place
  const double decade = points[1].first - points[0].first;
  CHECK(decade > 100);
  CHECK(points[2].first - points[1].first == Approx(decade).margin(0.2));
  CHECK(points[3].first - points[2].first == Approx(decade).margin(0.2));
  chart.series[0].x = {-1, 0, 0, 0, 0};
  CHECK(svg_chart(chart).empty());
}

std::size_t grid_lines(const Markup& markup) {
  std::size_t out = 0;
  for (const Element& e : markup.elements) out += e.attribute("class") == "grid" ? 1 : 0;
  return out;
}

TEST_CASE("a line rises from left to right, upwards", "[reports]") {
  const auto points = points_of(drawn(chart_of({0, 5, 10}, {0, 50, 100})), "path");
  REQUIRE(points.size() == 3);
  CHECK(points[0] == std::pair(70.0, 254.0));  // the corner of the axes
  CHECK(points[2] == std::pair(704.0, 12.0));
  CHECK(points[1].first == Approx(387));
  CHECK(points[1].second == Approx(133));
}

TEST_CASE("points with a status differ by form and have their figure, also beyond the axis",
          "[reports]") {
  Chart chart = chart_of({0, 1, 2}, {80, 99, 99.9});
  chart.x_names = {"a", "b", "c"};
  chart.series[0].status = {Status::kMissed, Status::kUncertain, Status::kMet};
  chart.series[0].low = {kInf, 40, 99.5};
  chart.series[0].high = {kInf, 99, 99.9};
  chart.figures = true;
  chart.unit = "%";
  chart.y_from = 95;
  chart.y_to = 100;
  chart.limits = {{"SLO", 99}};
  const std::string svg = svg_chart(chart);
  CHECK(read_markup(svg).problem == "");
  for (const char* part : {"judged good", "judged unsure", "judged bad", "\u2716 80.0% \u2193",
                           "? 99.0%", "\u2714 99.9%", ">95<", "wgood", "wunsure"}) {
    INFO(part);
    CHECK_THAT(svg, ContainsSubstring(part));
  }
  CHECK(svg.find(">80<") == std::string::npos);
}

TEST_CASE("ticks are round numbers from zero to beyond the largest value", "[reports]") {
  const std::string svg = svg_chart(chart_of({0, 10}, {3, 97}));
  for (const char* tick : {">0<", ">20<", ">40<", ">60<", ">80<", ">100<"}) {
    INFO(tick);
    CHECK_THAT(svg, ContainsSubstring(tick));
  }
  CHECK(grid_lines(drawn(chart_of({0, 10}, {3, 97}))) == 6);
}

TEST_CASE("a chart without a drawable point is not drawn", "[reports]") {
  CHECK(svg_chart(Chart{}) == "");
  CHECK(svg_chart(chart_of({}, {})) == "");
  Chart log = chart_of({1, 2}, {0, -1});
  log.log_y = true;
  CHECK(svg_chart(log) == "");
}

TEST_CASE("an empty series among others is skipped", "[reports]") {
  Chart chart = chart_of({}, {});
  chart.series.push_back({"full", {0, 1}, {1, 2}});
  CHECK(points_of(drawn(chart), "path").size() == 2);
}

TEST_CASE("a single point, equal values and zeros have axes", "[reports]") {
  CHECK(points_of(drawn(chart_of({5}, {7})), "circle").size() == 1);
  CHECK(points_of(drawn(chart_of({0}, {0})), "circle").size() == 1);
  CHECK(grid_lines(drawn(chart_of({1, 2, 3}, {4, 4, 4}))) >= 2);
  CHECK(grid_lines(drawn(chart_of({1, 1, 1}, {0, 0, 0}))) >= 2);
  CHECK(grid_lines(drawn(chart_of({0, 1}, {-3, -3}))) >= 2);
}

TEST_CASE("values of any magnitude stay inside", "[reports]") {
  for (const double size : {5e-324, 1e-300, 1e-12, 0.1 + 0.2, 1e9, 1e17, 1e300, 1.7e308}) {
    INFO(size);
    drawn(chart_of({0, 1}, {size, size / 2}));
    drawn(chart_of({0, size}, {1, 2}));
    drawn(chart_of({size, size}, {size, size}));
    drawn(chart_of({-size, size}, {-size, size}));
    Chart log = chart_of({0, 1}, {size, 1});
    log.log_y = true;
    drawn(log);
  }
}

TEST_CASE("a far range next to a large offset ends, and stays inside", "[reports]") {
  drawn(chart_of({1e16, 1e16 + 2}, {1, 2}));
  drawn(chart_of({1e9, 1e9 + 1e-6}, {1, 2}));
}

TEST_CASE("points that are not finite are left out", "[reports]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Markup markup = drawn(chart_of({0, 1, 2, 3, kInf}, {1, nan, kInf, 2, 1}));
  CHECK(points_of(markup, "circle").size() == 2);
  CHECK(svg_chart(chart_of({0}, {nan})) == "");
}

TEST_CASE("a logarithmic axis has decades and drops what it cannot show", "[reports]") {
  Chart chart = chart_of({0, 1, 2, 3}, {0, 1, 10, 1000});
  chart.log_y = true;
  const Markup markup = drawn(chart);
  CHECK(points_of(markup, "circle").size() == 3);
  CHECK(grid_lines(markup) == 4);  // 1, 10, 100, 1,000
  const auto points = points_of(markup, "path");
  REQUIRE(points.size() == 3);
  // One decade, then two.
  CHECK(points[1].second - points[2].second ==
        Approx(2 * (points[0].second - points[1].second)).epsilon(0.01));
}

TEST_CASE("limits are lines inside the chart, and widen its range", "[reports]") {
  Chart chart = chart_of({0, 1}, {1, 2});
  chart.limits = {{"target & more", 50}};
  const Markup markup = drawn(chart);
  std::size_t limits = 0;
  for (const Element& e : markup.elements) limits += e.attribute("class") == "limit" ? 1 : 0;
  CHECK(limits == 1);
  CHECK_THAT(svg_chart(chart), ContainsSubstring("target &amp; more"));
  chart.limits = {{"none", kInf}};
  drawn(chart);
}

TEST_CASE("named positions are labelled in order, also a single one", "[reports]") {
  Chart chart = chart_of({0, 1}, {1, 2});
  chart.x_names = {"0GiB", "a<b"};
  drawn(chart);
  const std::string svg = svg_chart(chart);
  CHECK(svg.find(">0GiB<") < svg.find(">a&lt;b<"));
  Chart one = chart_of({0}, {1});
  one.x_names = {"inf"};
  CHECK(points_of(read_markup(svg_chart(one)), "circle").at(0).first == Approx(387));
}

TEST_CASE("a band is a shape around its line, broken where the line is", "[reports]") {
  Chart chart = chart_of({0, 1, 2, 3, 4}, {5, 5, kInf, 5, 5});
  chart.series[0].low = {4, 4, 4, 4, 4};
  chart.series[0].high = {6, 6, 6, 6, kInf};
  const Markup markup = drawn(chart);
  std::size_t bands = 0;
  for (const Element& element : markup.elements) {
    if (!element.attribute("class").starts_with("band")) continue;
    CHECK(element.attribute("class") == "band f0");
    CHECK(element.attribute("d").ends_with('z'));
    ++bands;
  }
  CHECK(bands == 2);  // over 0 to 1, and at 3
  // The band widens the axis: 6 is beyond 5.
  CHECK_THAT(svg_chart(chart), ContainsSubstring(">6<"));
}

TEST_CASE("a line is broken at a gap, and a point between gaps is marked", "[reports]") {
  Chart chart = chart_of({0, 1, 2, 3, 4}, {1, 2, kInf, 3, kInf});
  chart.points = false;
  const Markup markup = drawn(chart);
  CHECK(markup.count("circle") == 1);
  for (const Element& element : markup.elements) {
    const std::string d = element.attribute("d");
    if (element.name == "path") CHECK(std::count(d.begin(), d.end(), 'M') == 2);
  }
}

TEST_CASE("regions are shaded between their ends and named", "[reports]") {
  Chart chart = chart_of({0, 10}, {1, 2});
  chart.regions = {{"link < bound", 5, 10}, {"beyond", 20, 30}, {"none", kInf, 3}};
  const Markup markup = drawn(chart);
  std::vector<Element> regions;
  for (const Element& element : markup.elements) {
    if (element.attribute("class") == "region") regions.push_back(element);
  }
  REQUIRE(regions.size() == 2);
  CHECK(std::stod(regions[0].attribute("x")) == Approx(387));
  CHECK(std::stod(regions[0].attribute("width")) == Approx(317));
  CHECK_THAT(svg_chart(chart), ContainsSubstring("link &lt; bound"));
}

TEST_CASE("scattered points have marks and no lines, and axes about them", "[reports]") {
  Chart chart = chart_of({100, 101}, {50, 51});
  chart.kind = ChartKind::kScatter;
  const Markup markup = drawn(chart);
  CHECK(markup.count("circle") == 2);
  CHECK(points_of(markup, "path").empty());
  CHECK(svg_chart(chart).find(">0<") == std::string::npos);
}

TEST_CASE("several series have a legend inside the drawing; long names are cut", "[reports]") {
  Chart chart = chart_of({0, 1}, {1, 2});
  const std::string name = "a policy whose name is much longer than a legend has room for";
  chart.series.push_back({name, {0, 1}, {2, 3}});
  drawn(chart);
  const std::string svg = svg_chart(chart);
  CHECK_THAT(svg, ContainsSubstring(">line</text>"));
  CHECK_THAT(svg, ContainsSubstring("<title>" + name + "</title>a policy whose name"));
  CHECK(svg.find(name + "</text>") == std::string::npos);
}

TEST_CASE("of many named places as many are labelled as fit", "[reports]") {
  Chart chart = chart_of({}, {});
  for (int i = 0; i < 300; ++i) {
    chart.series[0].x.push_back(i);
    chart.series[0].y.push_back(i);
    chart.x_names.push_back("place " + std::to_string(i));
  }
  CHECK(drawn(chart).count("text") < 30);
}

TEST_CASE("more series than colours start over", "[reports]") {
  Chart chart = chart_of({0, 1}, {1, 2});
  for (int i = 0; i < 7; ++i) chart.series.push_back({"s", {0, 1}, {1.0 * i, 2}});
  const Markup markup = drawn(chart);
  std::vector<std::string> lines;
  for (const Element& element : markup.elements) {
    const std::string css = element.attribute("class");
    if (element.name == "path" && css.starts_with('s')) lines.push_back(css);
  }
  REQUIRE(lines.size() == 8);
  CHECK(lines[0] == "s0 d0");
  CHECK(lines[5] == "s5 d5");
  CHECK(lines[6] == "s0 d1");  // the colour again, in other dashes
}

}  // namespace
}  // namespace spillway::test
