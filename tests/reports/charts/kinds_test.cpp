// Tornados, stacked bars and heatmaps as drawings: what is drawn where, and that nothing leaves the
// drawing whatever the values are.
#include <limits>

#include "reports/charts/svg_chart.hpp"
#include "tests/reports/markup.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Draws, and checks that the drawing is well formed and that its boxes lie inside.
Markup drawn(const Chart& chart) {
  const std::string svg = svg_chart(chart);
  INFO(svg);
  const Markup markup = read_markup(svg);
  CHECK(markup.problem == "");
  REQUIRE(!markup.elements.empty());
  CHECK(markup.elements[0].attribute("role") == "img");
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf\"") == std::string::npos);
  const double height = std::stod(markup.elements[0].attribute("viewBox").substr(8));
  for (const Element& element : markup.elements) {
    if (element.name != "rect") continue;
    const double x = std::stod(element.attribute("x"));
    const double y = std::stod(element.attribute("y"));
    CHECK((x >= 0 && x + std::stod(element.attribute("width")) <= 720.1));
    CHECK((y >= 0 && y + std::stod(element.attribute("height")) <= height));
  }
  return markup;
}

std::vector<double> values_of(const Markup& markup, std::string_view css, const char* attribute) {
  std::vector<double> out;
  for (const Element& element : markup.elements) {
    if (element.attribute("class") == css) out.push_back(std::stod(element.attribute(attribute)));
  }
  return out;
}

Chart tornado() {
  Chart chart;
  chart.kind = ChartKind::kTornado;
  chart.title = "Margin";
  chart.bars_from = 10;
  chart.bars = {{"rate", 30, -10, "x 0.8", "x 1.2"}, {"reuse", 0, 20, "x 0.8", "x 1.2"}};
  return chart;
}

TEST_CASE("a tornado's bars go from the common start to either end", "[reports]") {
  const Markup markup = drawn(tornado());
  const auto low = values_of(markup, "f0", "width");
  const auto high = values_of(markup, "f1", "width");
  REQUIRE(low.size() == 2);
  REQUIRE(high.size() == 2);
  CHECK(low[0] == Approx(high[0]));  // 20 to either side
  CHECK(low[1] == Approx(low[0] / 2).margin(0.1));
  CHECK(values_of(markup, "f0", "x")[0] == Approx(values_of(markup, "axis", "x1")[0]).margin(0.1));
  CHECK(values_of(markup, "limit", "x1").size() == 1);  // at 0
  CHECK_THAT(markup.text, ContainsSubstring("rate, x 1.2: -10.0"));
}

TEST_CASE("tornado bars without finite ends are left out", "[reports]") {
  Chart chart = tornado();
  chart.bars[0].low = kNan;
  CHECK(values_of(drawn(chart), "f0", "width").size() == 1);
  chart.bars[1].high = kInf;
  CHECK(svg_chart(chart) == "");
  chart = tornado();
  chart.bars_from = kInf;
  CHECK(svg_chart(chart) == "");
  chart.bars.clear();
  CHECK(svg_chart(chart) == "");
}

Chart stacks() {
  Chart chart;
  chart.kind = ChartKind::kStacks;
  chart.title = "Waits";
  chart.unit = "ms";
  chart.part_names = {"queue", "load"};
  chart.stacks = {{"all", {10, 30}}, {"slowest", {40, 60}}};
  return chart;
}

TEST_CASE("a stack's parts follow each other and its sum stands at the end", "[reports]") {
  const Markup markup = drawn(stacks());
  const auto x0 = values_of(markup, "part f0", "x");
  const auto width0 = values_of(markup, "part f0", "width");
  const auto x1 = values_of(markup, "part f1", "x");
  const auto width1 = values_of(markup, "part f1", "width");
  REQUIRE(x0.size() == 2);
  REQUIRE(x1.size() == 2);
  CHECK(x0[0] == x0[1]);
  CHECK(x1[0] == Approx(x0[0] + width0[0]).margin(0.2));
  CHECK(width1[0] == Approx(3 * width0[0]).margin(0.2));
  CHECK_THAT(markup.text, ContainsSubstring("100 ms"));
  CHECK_THAT(markup.text, ContainsSubstring("slowest, load: 60.0 ms"));
}

TEST_CASE("parts that are not finite or negative take no room", "[reports]") {
  Chart chart = stacks();
  chart.stacks[0].parts = {kNan, -5};
  CHECK(values_of(drawn(chart), "part f0", "x").size() == 1);
  chart.stacks[1].parts = {kInf};
  CHECK(svg_chart(chart) == "");
  chart.stacks = {{"more parts than names", {1, 2, 3, 4}}};
  drawn(chart);
  chart.stacks = {{"huge", {1e308, 1e308}}};
  drawn(chart);
  chart.stacks.clear();
  CHECK(svg_chart(chart) == "");
}

Chart heatmap() {
  Chart chart;
  chart.kind = ChartKind::kHeatmap;
  chart.title = "Busy";
  chart.unit = "%";
  chart.y_names = {"h2d", "d2h"};
  chart.x_names = {"0 s", "10 s", "20 s"};
  chart.cells = {{0, 50, 100}, {100, kNan, 0}};
  return chart;
}

TEST_CASE("a heatmap's cells are darker for more; gaps stay empty", "[reports]") {
  const Markup markup = drawn(heatmap());
  const auto boxes = [&](const std::string& css) {
    std::ptrdiff_t out = 0;
    for (const Element& element : markup.elements) {
      const std::string d = element.attribute("d");
      if (element.name == "path" && element.attribute("class") == css) {
        out += std::count(d.begin(), d.end(), 'M');
      }
    }
    return out;
  };
  CHECK(boxes("cell h0") == 2);
  CHECK(boxes("cell h5") == 1);
  CHECK(boxes("cell h9") == 2);
  CHECK_THAT(markup.text, ContainsSubstring("100 %"));
  CHECK_THAT(markup.text, ContainsSubstring("h2d"));
}

TEST_CASE("heatmaps of any shape and magnitude are drawn", "[reports]") {
  Chart chart = heatmap();
  chart.cells = {{}, {1}, {1, 2, 3, 4, 5}};
  drawn(chart);
  chart.cells = {{7}};
  drawn(chart);
  chart.cells = {{-1e308, 1e308}};
  drawn(chart);
  chart.cells = {{0, 0}};
  drawn(chart);
  chart.cells = {{kNan}};
  CHECK(svg_chart(chart) == "");
  chart.cells.clear();
  CHECK(svg_chart(chart) == "");
  chart.cells = {std::vector<double>(2'000, 1)};
  chart.x_names.assign(2'000, std::string(500, 'x'));
  CHECK(svg_chart(chart).size() < 20'000);
}

}  // namespace
}  // namespace spillway::test
