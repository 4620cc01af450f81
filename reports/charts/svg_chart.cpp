#include "reports/charts/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/format.hpp"

namespace spillway {

namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 300;
constexpr double kLeft = 70;
constexpr double kRight = 16;
constexpr double kTop = 12;
constexpr double kBottom = 46;
constexpr int kColors = 6;  // classes s0..s5 of the page's style sheet

/// A numeric axis: its range, its ticks, and where a value falls in [0, 1].
class Axis {
 public:
  /// Places 0, 1, 2, ... for named positions.
  explicit Axis(std::size_t names)
      : log_(false), low_(-0.5), high_(static_cast<double>(names) - 0.5) {}
  Axis(double low, double high, bool logarithmic) : log_(logarithmic) {
    if (log_) {
      low_ = std::max(-307.0, std::floor(std::log10(low)));  // normal doubles only
      high_ = std::clamp(std::ceil(std::log10(high)), low_ + 1, 308.0);
      const double decades = std::max(1.0, std::ceil((high_ - low_) / 10));
      for (double e = low_; e <= high_; e += decades) ticks_.push_back(std::pow(10, e));
      return;
    }
    // A range that doubles can divide into steps, even around one value or next to a huge one.
    constexpr double kMost = 1e300;
    low = std::clamp(low, -kMost, kMost);
    high = std::clamp(high, -kMost, kMost);
    const double resolution = 1e-9 * std::max(std::fabs(low), std::fabs(high));
    if (high - low <= std::max(resolution, 1e-300)) high = low + std::max(resolution, 1.0);
    const double step = nice((high - low) / 5);
    low_ = std::floor(low / step) * step;
    high_ = std::ceil(high / step) * step;
    for (int i = 0; low_ + i * step <= high_ + step / 2; ++i) ticks_.push_back(low_ + i * step);
  }
  double at(double value) const {
    const double v = log_ ? std::log10(value) : value;
    return std::clamp((v - low_) / (high_ - low_), 0.0, 1.0);
  }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  static double nice(double step) {
    const double magnitude = std::pow(10, std::floor(std::log10(step)));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (step <= factor * magnitude) return factor * magnitude;
    }
    return 10 * magnitude;
  }
  bool log_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> ticks_;
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

double px(double share) {
  return kLeft + share * (kWidth - kLeft - kRight);
}
double py(double share) {
  return kHeight - kBottom - share * (kHeight - kTop - kBottom);
}

std::string label(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     html_text(text));
}

std::string frame(const Chart& chart, const Axis& x, const Axis& y) {
  std::string out;
  for (const double tick : y.ticks()) {
    const double at = py(y.at(tick));
    out += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", px(0),
        px(1), at, at);
    out += label(kLeft - 8, at + 4, "end", format_real(tick));
  }
  if (chart.x_names.empty()) {
    for (const double tick : x.ticks()) {
      // A wide label at the right edge would be cut off.
      const double at = px(x.at(tick));
      const bool edge = at > px(1) - 1;
      out += label(edge ? kWidth - 2 : at, kHeight - kBottom + 18, edge ? "end" : "middle",
                   format_real(tick));
    }
  } else {
    for (std::size_t i = 0; i < chart.x_names.size(); ++i) {
      out += label(px(x.at(static_cast<double>(i))), kHeight - kBottom + 18, "middle",
                   chart.x_names[i]);
    }
  }
  out += label(px(0.5), kHeight - 8, "middle", chart.x_label);
  out += fmt::format(
      "<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
      py(0.5), html_text(chart.y_label));
  return out;
}

constexpr double kBarHeight = 26;
constexpr double kBarLeft = 250;  // names are as long as they are

/// A tornado: what each bar reaches from the common start, in two colours.
std::string svg_bars(const Chart& chart) {
  Range xs;
  xs.add(chart.bars_from);
  xs.add(0);
  std::vector<const ChartBar*> bars;
  for (const ChartBar& bar : chart.bars) {
    if (!std::isfinite(bar.low) || !std::isfinite(bar.high)) continue;
    bars.push_back(&bar);
    xs.add(bar.low);
    xs.add(bar.high);
  }
  if (bars.empty() || !std::isfinite(chart.bars_from)) return "";
  const Axis axis(xs.low, xs.high, false);
  const auto at = [&](double value) {
    return kBarLeft + axis.at(value) * (kWidth - kBarLeft - 2 * kRight);
  };
  const double bottom = kTop + kBarHeight * static_cast<double>(bars.size());
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
                                kWidth, bottom + kBottom, html_text(chart.title));
  for (const double tick : axis.ticks()) {
    out +=
        fmt::format("<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
                    tick == 0 ? "limit" : "grid", at(tick), at(tick), kTop, bottom);
    out += label(at(tick), bottom + 18, "middle", format_real(tick));
  }
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kTop + kBarHeight * static_cast<double>(i);
    out += label(kBarLeft - 8, y + kBarHeight / 2 + 4, "end", bars[i]->name);
    const auto part = [&](double value, std::string_view name, int color) {
      const double from = std::min(at(value), at(chart.bars_from));
      const double width = std::abs(at(value) - at(chart.bars_from));
      out += fmt::format(
          "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
          "<title>{}, {}: {}</title></rect>",
          color, from, y + (color == 0 ? 3 : kBarHeight / 2), width, kBarHeight / 2 - 3,
          html_text(bars[i]->name), html_text(name), format_real(value));
    };
    part(bars[i]->low, bars[i]->low_name, 0);
    part(bars[i]->high, bars[i]->high_name, 1);
  }
  out += label((kBarLeft + kWidth) / 2, bottom + kBottom - 8, "middle", chart.x_label);
  return out + "</svg>";
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_chart(const Chart& chart) {
  if (chart.kind == ChartKind::kTornado) return svg_bars(chart);
  Range xs;
  Range ys;
  const auto drawable = [&](double y) { return std::isfinite(y) && (!chart.log_y || y > 0); };
  const auto drawn = [&](const ChartSeries& series, std::size_t i) {
    const double x = series.x[i];
    return std::isfinite(x) && (!chart.log_x || x > 0) && drawable(series.y[i]);
  };
  for (const ChartSeries& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawn(series, i)) continue;
      xs.add(series.x[i]);
      ys.add(series.y[i]);
    }
  }
  if (xs.empty()) return "";
  for (const auto& [name, value] : chart.limits) {
    if (drawable(value)) ys.add(value);
  }
  if (!chart.log_y) ys.add(0);
  const bool named = !chart.x_names.empty();
  const Axis x = named ? Axis(chart.x_names.size()) : Axis(xs.low, xs.high, chart.log_x);
  const Axis y(ys.low, ys.high, chart.log_y);

  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
                                kWidth, kHeight, html_text(chart.title));
  out += frame(chart, x, y);
  for (const auto& [name, value] : chart.limits) {
    if (!drawable(value)) continue;
    const double at = py(y.at(value));
    out += fmt::format(
        "<line class=\"limit\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", px(0),
        px(1), at, at);
    out += label(px(1) - 4, at - 5, "end", name);
  }
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const ChartSeries& series = chart.series[s];
    const std::size_t color = s % kColors;
    std::string path;
    std::string marks;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawn(series, i)) continue;
      const double cx = px(x.at(series.x[i]));
      const double cy = py(y.at(series.y[i]));
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", cx, cy);
      if (chart.points) {
        marks += fmt::format(
            "<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}: "
            "{}</title></circle>",
            color, cx, cy, html_text(series.name), format_real(series.y[i]));
      }
    }
    out += fmt::format("<path class=\"s{}\" d=\"{}\"/>{}", color, path, marks);
  }
  return out + "</svg>";
}

}  // namespace spillway
