// Lines and clouds of points over a common axis, with bands, limits and shaded regions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/charts/drawing.hpp"
#include "reports/format.hpp"
#include "reports/status.hpp"

namespace spillway {

namespace {

constexpr double kBeside = 0.2;  // of the step between named places, to either side
constexpr double kRegionRow = 14;
constexpr double kSide = 0.4;    // of the plane, where the name of a limit would stand
constexpr double kFigures = 14;  // room for a figure above the highest point

/// One chart being drawn: what of it has a place, and where.
class Lines {
 public:
  explicit Lines(const Chart& chart) : chart_(chart) {
    for (const ChartSeries& series : chart.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!drawn(series, i)) continue;
        xs_.add(series.x[i]);
        ys_.add(series.y[i]);
        if (!in_band(series, i)) continue;
        ys_.add(series.low[i]);
        ys_.add(series.high[i]);
      }
    }
    if (xs_.empty()) return;
    for (const auto& [name, value] : chart.limits) {
      if (drawable(value)) ys_.add(value);
    }
    if (!chart.log_y && chart.kind == ChartKind::kLines) ys_.add(0);
    if (std::isfinite(chart.y_from)) ys_.low = chart.y_from;
    if (std::isfinite(chart.y_to)) ys_.high = chart.y_to;
    if (chart.figures) plane_.top += kFigures;
    if (chart.figures) plane_.bottom += kFigures;
  }

  std::string draw() {
    if (xs_.empty()) return "";
    const bool named = !chart_.x_names.empty();
    const Axis x = named ? Axis(chart_.x_names.size()) : Axis(xs_.low, xs_.high, chart_.log_x);
    const Axis y(ys_.low, ys_.high, chart_.log_y);
    x_ = &x;
    y_ = &y;
    std::vector<std::string> names;
    for (const ChartSeries& series : chart_.series) names.push_back(series.name);
    if (names.size() > 1) {
      const double height = out_.legend(names, false);
      plane_.top += height;
      plane_.bottom += height;
    }
    const double rows = region_rows();
    if (!chart_.figures) {
      plane_.top += rows;
      plane_.bottom += rows;
    }
    regions();
    const double more = out_.frame(chart_, plane_, x, y);
    for (std::size_t s = 0; s < chart_.series.size(); ++s) band(s);
    limits();
    for (std::size_t s = 0; s < chart_.series.size(); ++s) line(s);
    // On top of the lines that they stand on.
    for (const LimitName& limit : limit_names_) {
      const bool left = room_beside(limit.line, 0, kSide) > room_beside(limit.line, 1 - kSide, 1);
      out_.label(left ? plane_.left + 4 : plane_.right - 4, limit.at, left ? "start" : "end",
                 limit.name, plane_.right - plane_.left);
    }
    return out_.finish(chart_, plane_.bottom + 46 + more);
  }

 private:
  bool drawable(double y) const { return std::isfinite(y) && (!chart_.log_y || y > 0); }
  bool drawn(const ChartSeries& series, std::size_t i) const {
    const double x = series.x[i];
    return i < series.y.size() && std::isfinite(x) && (!chart_.log_x || x > 0) &&
           drawable(series.y[i]);
  }
  bool in_band(const ChartSeries& series, std::size_t i) const {
    return i < series.low.size() && i < series.high.size() && drawable(series.low[i]) &&
           drawable(series.high[i]);
  }
  double px(double value) const { return plane_.x(x_->at(value)); }
  double py(double value) const { return plane_.y(y_->at(value)); }

  /// Scattered series at the same named place stand side by side.
  double px(std::size_t s, std::size_t i) const {
    const double x = chart_.series[s].x[i];
    const bool shared = chart_.kind == ChartKind::kScatter && !chart_.x_names.empty();
    const double middle = static_cast<double>(chart_.series.size() - 1) / 2;
    return px(shared ? x + kBeside * (static_cast<double>(s) - middle) / (middle + 1) : x);
  }

  struct Place {
    const ChartRegion* region;
    double from, width, at, wide;
    std::size_t row;
  };

  /// A thin region marks a place; names that would meet stand in rows.
  std::vector<Place> places() const {
    std::vector<double> ends;  // of the names in each row
    std::vector<const ChartRegion*> ordered;
    for (const ChartRegion& region : chart_.regions) ordered.push_back(&region);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const ChartRegion* a, const ChartRegion* b) { return a->from < b->from; });
    std::vector<Place> out;
    for (const ChartRegion* region : ordered) {
      if (!std::isfinite(region->from) || !std::isfinite(region->to)) continue;
      if (chart_.log_x && (region->from <= 0 || region->to <= 0)) continue;
      const double from = std::min(px(region->from), plane_.right - 2);
      const double width = std::max(px(region->to) - from, 2.0);
      const double wide = widest({region->name}, plane_.right - plane_.left);
      const double at = std::max(plane_.left, std::min(from, plane_.right - wide));
      std::size_t row = 0;
      while (row < ends.size() && ends[row] + 10 > at) ++row;
      ends.resize(std::max(ends.size(), row + 1));
      ends[row] = at + wide;
      out.push_back({region, from, width, at, wide, row});
    }
    return out;
  }

  /// How much room the names of regions need above the plane.
  double region_rows() const {
    double out = 0;
    for (const Place& place : places()) {
      out = std::max(out, kRegionRow * static_cast<double>(place.row + 1));
    }
    return out;
  }

  /// Names stand above the plane, where no line is; where figures do, below them.
  void regions() {
    for (const Place& p : places()) {
      out_.box("region", p.from, plane_.top, p.width, plane_.bottom - plane_.top, p.region->name);
      const double down = kRegionRow * static_cast<double>(p.row);
      if (chart_.figures) {
        out_.label(p.at + 5, plane_.bottom - 8 - down, "start", p.region->name, p.wide);
      } else {
        out_.text(p.at, plane_.top - 5 - down, "start", p.region->name, p.wide);
      }
    }
  }

  void limits() {
    for (const auto& [name, value] : chart_.limits) {
      if (!drawable(value)) continue;
      const double at = py(value);
      out_.line("limit", plane_.left, at, plane_.right, at);
      // A label above a line at the top would leave the plane.
      const bool above = at - plane_.top > 16;
      limit_names_.push_back({above ? at - 5 : at + 14, at, name});
    }
  }

  struct LimitName {
    double at, line;
    std::string name;
  };

  /// How near any point between these shares of the plane comes to a height.
  double room_beside(double height, double from, double to) const {
    double out = plane_.bottom;
    for (const ChartSeries& series : chart_.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!drawn(series, i)) continue;
        const double x = x_->at(series.x[i]);
        if (x >= from && x <= to) out = std::min(out, std::abs(py(series.y[i]) - height));
      }
    }
    return out;
  }

  /// One shape for each stretch without gaps: along the upper edge, and back along the lower one.
  void band(std::size_t s) {
    const ChartSeries& series = chart_.series[s];
    if (chart_.kind == ChartKind::kScatter || !series.status.empty()) {
      for (std::size_t i = 0; i < series.x.size(); ++i) whisker(s, i);
      return;
    }
    const std::string css = "band " + series_class('f', s);
    std::string upper;
    std::string lower;
    const auto close = [&] {
      if (!upper.empty()) out_.path(css, upper + lower + "z");
      upper.clear();
      lower.clear();
    };
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawn(series, i) || !in_band(series, i)) {
        close();
        continue;
      }
      const double x = px(series.x[i]);
      upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", x, py(series.high[i]));
      lower = fmt::format("L{:.1f} {:.1f}", x, py(series.low[i])) + lower;
    }
    close();
  }

  /// From one end of a point's interval to the other.
  void whisker(std::size_t s, std::size_t i) {
    const ChartSeries& series = chart_.series[s];
    if (!drawn(series, i) || !in_band(series, i)) return;
    const double x = px(s, i);
    const double low = py(series.low[i]);
    const double high = py(series.high[i]);
    const std::string_view status = class_of(status_at(series, i));
    const std::string css =
        "whisker " + (status.empty() ? series_class('s', s) : fmt::format("w{}", status));
    out_.line(css, x, low, x, high);
    for (const double end : {series.low[i], series.high[i]}) {
      const bool within = !(end < chart_.y_from) && !(end > chart_.y_to);
      if (within) out_.line(css, x - 4, py(end), x + 4, py(end));
    }
  }

  static Status status_at(const ChartSeries& series, std::size_t i) {
    return i < series.status.size() ? series.status[i] : Status::kNone;
  }

  /// A point with its status and its figure; an arrow where it lies beyond the axis.
  void judged(const ChartSeries& series, std::size_t s, std::size_t i) {
    const double y = series.y[i];
    const double at = py(y) - (y < chart_.y_from ? 7 : 0);
    const Status status = status_at(series, i);
    std::string figure(symbol_of(status));
    figure += fmt::format("{}{}{}{}", figure.empty() ? "" : " ", format_real(y), chart_.unit,
                          y < chart_.y_from ? " \u2193"
                          : y > chart_.y_to ? " \u2191"
                                            : "");
    out_.judged(status, px(s, i), at, series.name + ": " + format_real(y) + chart_.unit);
    if (!chart_.figures) return;
    const bool meets =
        std::any_of(chart_.limits.begin(), chart_.limits.end(), [&](const auto& limit) {
          const double above = at - py(limit.second);
          return above > 2 && above < 2 * kFigures;
        });
    out_.label(px(s, i), meets ? at + 20 : at - 11, "middle", figure, 90);
  }

  void line(std::size_t s) {
    const ChartSeries& series = chart_.series[s];
    const bool scatter = chart_.kind == ChartKind::kScatter;
    std::string path;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawn(series, i)) continue;
      const bool after_gap = i == 0 || !drawn(series, i - 1);
      path +=
          fmt::format("{}{:.1f} {:.1f}", after_gap ? "M" : "L", px(series.x[i]), py(series.y[i]));
    }
    if (!scatter) out_.path(series.status.empty() ? line_class(s) : "through", path);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawn(series, i)) continue;
      const bool alone =
          (i == 0 || !drawn(series, i - 1)) && (i + 1 == series.x.size() || !drawn(series, i + 1));
      if (!series.status.empty()) {
        judged(series, s, i);
        continue;
      }
      if (!chart_.points && !scatter && !alone) continue;
      out_.mark(s, px(s, i), py(series.y[i]), series.name + ": " + format_real(series.y[i]));
    }
  }

  const Chart& chart_;
  Range xs_;
  Range ys_;
  const Axis* x_ = nullptr;
  const Axis* y_ = nullptr;
  Plane plane_;
  std::vector<LimitName> limit_names_;
  Drawing out_;
};

}  // namespace

std::string draw_lines(const Chart& chart) {
  return Lines(chart).draw();
}

}  // namespace spillway
