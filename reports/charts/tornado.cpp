// A tornado: what each bar reaches from the common start, its low end above its high end.
#include <fmt/format.h>

#include <cmath>

#include "reports/charts/drawing.hpp"
#include "reports/format.hpp"
#include "reports/status.hpp"

namespace spillway {

namespace {
constexpr double kBarRow = 26;
constexpr double kBarNames = 250;
}  // namespace

std::string draw_tornado(const Chart& chart) {
  Range xs;
  xs.add(chart.bars_from);
  xs.add(0);
  std::vector<const ChartBar*> bars;
  std::vector<std::string> names;
  for (const ChartBar& bar : chart.bars) {
    if (!std::isfinite(bar.low) || !std::isfinite(bar.high)) continue;
    bars.push_back(&bar);
    names.push_back(bar.name);
    xs.add(bar.low);
    xs.add(bar.high);
  }
  if (bars.empty() || !std::isfinite(chart.bars_from)) return "";
  const Axis axis(xs.low, xs.high, false);
  Plane plane;
  plane.left = 12 + widest(names, kBarNames);
  plane.right = kDrawingWidth - 70;  // values stand beside their bars
  plane.bottom = plane.top + kBarRow * static_cast<double>(bars.size());
  Drawing out;
  out.horizontal_axis(plane, axis, chart.x_label);
  const auto x = [&](double value) { return plane.x(axis.at(value)); };
  out.line("limit", x(0), plane.top, x(0), plane.bottom);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const ChartBar& bar = *bars[i];
    const double y = plane.top + kBarRow * static_cast<double>(i);
    out.text(plane.left - 8, y + kBarRow / 2 + 4, "end", bar.name, kBarNames);
    const double start = x(chart.bars_from);
    const auto half = [&](double value, double other, const std::string& name, Status status,
                          int color) {
      const double end = x(value);
      const bool alone = other == chart.bars_from;  // stands beside its name
      const double top = y + (alone ? kBarRow / 4 + 1 : color == 0 ? 3 : kBarRow / 2);
      const std::string css = status == Status::kNone ? fmt::format("f{}", color)
                                                      : fmt::format("judged {}", class_of(status));
      out.box(css, std::min(start, end), top, std::abs(end - start), kBarRow / 2 - 3,
              fmt::format("{}, {}: {}", bar.name, name, format_real(value)));
      if (std::abs(end - start) < 0.5) return;  // no bar to name
      const std::string_view symbol = symbol_of(status);
      out.text(std::max(start, end) + 4, top + 10, "start",
               fmt::format("{}{}{}", symbol, symbol.empty() ? "" : " ", name), 66);
    };
    half(bar.low, bar.high, bar.low_name, bar.low_status, 0);
    half(bar.high, bar.low, bar.high_name, bar.high_status, 1);
  }
  out.line("axis", x(chart.bars_from), plane.top, x(chart.bars_from), plane.bottom);
  return out.finish(chart, plane.bottom + 46);
}

}  // namespace spillway
