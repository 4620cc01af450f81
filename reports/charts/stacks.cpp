// Horizontal bars made of parts, from 0 on, with the sum at their ends.
#include <fmt/format.h>

#include <cmath>

#include "reports/charts/drawing.hpp"
#include "reports/format.hpp"

namespace spillway {

namespace {
constexpr double kStackRow = 30;
constexpr double kStackNames = 220;

/// Parts without a finite positive length take no room.
double length(double part) {
  return std::isfinite(part) && part > 0 ? std::min(part, 1e299) : 0;
}

double sum(const ChartStack& stack) {
  double out = 0;
  for (const double part : stack.parts) out += length(part);
  return out;
}

}  // namespace

std::string draw_stacks(const Chart& chart) {
  if (chart.stacks.empty()) return "";
  double most = 0;
  std::vector<std::string> names;
  for (const ChartStack& stack : chart.stacks) {
    names.push_back(stack.name);
    most = std::max(most, sum(stack));
  }
  if (most == 0) return "";
  const Axis axis(0, std::max(most, length(chart.most)), false);
  const std::string unit = chart.unit.empty() ? "" : " " + chart.unit;
  Drawing out;
  Plane plane;
  plane.top += out.legend(chart.part_names, true);
  plane.left = 12 + widest(names, kStackNames);
  plane.right = kDrawingWidth - 90;
  plane.bottom = plane.top + kStackRow * static_cast<double>(chart.stacks.size());
  out.horizontal_axis(plane, axis, chart.x_label.empty() ? chart.unit : chart.x_label);
  for (std::size_t i = 0; i < chart.stacks.size(); ++i) {
    const ChartStack& stack = chart.stacks[i];
    const double y = plane.top + kStackRow * static_cast<double>(i);
    out.text(plane.left - 8, y + kStackRow / 2 + 4, "end", stack.name, kStackNames);
    double before = 0;
    for (std::size_t p = 0; p < stack.parts.size(); ++p) {
      const double after = before + length(stack.parts[p]);
      const double x = plane.x(axis.at(before));
      const std::string part = p < chart.part_names.size() ? chart.part_names[p] : "";
      if (after > before) {
        out.box("part " + series_class('f', p), x, y + 4, plane.x(axis.at(after)) - x,
                kStackRow - 8,
                fmt::format("{}, {}: {}{}", stack.name, part, format_real(stack.parts[p]), unit));
      }
      const double width = plane.x(axis.at(after)) - x;
      if (text_width(part) + 6 < width) {
        out.inside(x + width / 2, y + kStackRow / 2 + 4, part);
      }
      before = after;
    }
    out.text(plane.x(axis.at(before)) + 6, y + kStackRow / 2 + 4, "start",
             format_real(before) + unit, 84);
  }
  return out.finish(chart, plane.bottom + 46);
}

}  // namespace spillway
