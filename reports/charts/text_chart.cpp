#include "reports/charts/text_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/format.hpp"
#include "reports/renderers/table_layout.hpp"
#include "sim/det_math.hpp"

namespace spillway {

namespace {

constexpr int kRows = 7;
constexpr std::size_t kMostColumns = 64;
constexpr std::size_t kFewestColumns = 12;
constexpr std::size_t kMostMarked = 24;  // points of a series beyond which only its line is drawn

/// From a value to 0..1, by itself or its logarithm.
struct Scale {
  double low = 0;
  double high = 0;
  bool log = false;

  bool holds(double value) const { return std::isfinite(value) && (!log || value > 0); }
  double place(double value) const {
    const double from = log ? det::log2(low) : low;
    const double to = log ? det::log2(high) : high;
    if (to <= from) return 0.5;
    return std::clamp(((log ? det::log2(value) : value) - from) / (to - from), 0.0, 1.0);
  }
  void include(double value) {
    if (!holds(value)) return;
    low = none_ ? value : std::min(low, value);
    high = none_ ? value : std::max(high, value);
    none_ = false;
  }
  bool none() const { return none_; }

 private:
  bool none_ = true;
};

struct Point {
  double x = 0;  ///< 0..1
  double y = 0;
};

struct Glyphs {
  const char* bar;
  const char* corner;
  const char* line;
  const char* dash;
  const char* mark;
  std::array<const char*, 5> series;
};
constexpr Glyphs kAscii = {"|", "+", "-", "-", "^", {"*", "o", "x", "#", "%"}};
constexpr Glyphs kUnicode = {"│", "└", "─", "╌", "▲", {"●", "○", "■", "□", "◆"}};

/// Cells of text; lines between points are drawn in dots, two by four to a cell where there are
/// Braille characters, else one.
class Canvas {
 public:
  Canvas(std::size_t columns, bool unicode)
      : columns_(columns),
        across_(unicode ? 2 : 1),
        down_(unicode ? 4 : 1),
        dots_(columns * kRows, 0),
        cells_(columns * kRows) {}

  std::size_t column(double x) const {
    return static_cast<std::size_t>(x * static_cast<double>(columns_ - 1) + 0.5);
  }
  static std::size_t row(double y) { return static_cast<std::size_t>((1 - y) * (kRows - 1) + 0.5); }

  void put(std::size_t column, std::size_t row, const char* glyph) {
    cells_[row * columns_ + column] = glyph;
  }
  /// A straight line in dots; `glyph` stands for a dot where there is no Braille.
  void join(Point a, Point b, const char* glyph) {
    const auto [x0, y0] = dot(a);
    const auto [x1, y1] = dot(b);
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      const int x = x0 + static_cast<int>(std::lround(double(x1 - x0) * i / steps));
      const int y = y0 + static_cast<int>(std::lround(double(y1 - y0) * i / steps));
      const auto at =
          static_cast<std::size_t>(y / down_) * columns_ + static_cast<std::size_t>(x / across_);
      if (down_ == 1) {
        cells_[at] = glyph;
      } else {
        // Dots 1 to 3 and 7 go down on the left, 4 to 6 and 8 on the right.
        constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        dots_[at] |= kBits[y % 4][x % 2];
        cells_[at].clear();
      }
    }
  }
  std::string text(std::size_t row) const {
    std::string out;
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::size_t at = row * columns_ + c;
      if (!cells_[at].empty()) {
        out += cells_[at];
      } else if (dots_[at] != 0) {
        const int code = 0x2800 + dots_[at];
        out += static_cast<char>(0xE0 | (code >> 12));
        out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (code & 0x3F));
      } else {
        out += ' ';
      }
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

 private:
  std::pair<int, int> dot(Point p) const {
    const auto last_x = static_cast<double>(static_cast<int>(columns_) * across_ - across_);
    const auto last_y = static_cast<double>(kRows * down_ - down_);
    return {static_cast<int>(std::lround(p.x * last_x)) + (across_ - 1) / 2,
            static_cast<int>(std::lround((1 - p.y) * last_y)) + (down_ - 1) / 2};
  }

  std::size_t columns_;
  int across_;
  int down_;
  std::vector<int> dots_;
  std::vector<std::string> cells_;
};

/// Words at columns, none on another.
class Labels {
 public:
  explicit Labels(std::size_t columns) : columns_(columns) {}
  /// Its middle there.
  void add(std::size_t column, const std::string& text) {
    const std::size_t wide = display_width(text);
    const std::size_t begin = column - std::min(column, wide / 2);
    put(begin + wide > columns_ ? columns_ - std::min(columns_, wide) : begin, text);
  }
  /// `mark` there, the name beside it.
  void add_mark(std::size_t column, const std::string& mark, const std::string& name) {
    const std::size_t wide = display_width(name) + 1;
    if (column + 1 + wide <= columns_) return put(column, mark + " " + name);
    put(column - std::min(column, wide), name + " " + mark);
  }
  const std::string& text() const { return text_; }

 private:
  void put(std::size_t begin, const std::string& text) {
    if (!text_.empty() && begin < used_ + 1) return;  // no room
    text_.append(begin - used_, ' ');
    text_ += text;
    used_ = begin + display_width(text);
  }

  std::size_t columns_;
  std::size_t used_ = 0;
  std::string text_;
};

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + text;
}

Scale x_scale(const Chart& chart) {
  Scale out;
  out.log = chart.log_x && chart.x_names.empty();
  for (const ChartSeries& series : chart.series) {
    for (const double x : series.x) out.include(x);
  }
  return out;
}

Scale y_scale(const Chart& chart) {
  Scale out;
  out.log = chart.log_y;
  for (const ChartSeries& series : chart.series) {
    for (const double y : series.y) out.include(y);
  }
  for (const auto& limit : chart.limits) out.include(limit.second);
  if (!out.log && !out.none() && out.low > 0) out.low = 0;
  return out;
}

/// The longest series of points that can be placed.
std::vector<Point> points_of(const ChartSeries& series, const Scale& x, const Scale& y) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (x.holds(series.x[i]) && y.holds(series.y[i]))
      out.push_back({x.place(series.x[i]), y.place(series.y[i])});
  }
  return out;
}

Labels x_labels(const Chart& chart, const Scale& x, const Canvas& canvas, std::size_t columns) {
  Labels out(columns);
  if (!chart.x_names.empty()) {
    for (std::size_t i = 0; i < chart.x_names.size(); ++i)
      out.add(canvas.column(x.place(static_cast<double>(i))), printable(chart.x_names[i]));
  } else if (x.log) {
    double decade = 1;
    while (decade > x.low) decade /= 10;
    for (; decade <= x.high; decade *= 10) {
      if (decade >= x.low) out.add(canvas.column(x.place(decade)), format_real(decade));
    }
  } else {
    for (const double share : {0.0, 0.5, 1.0})
      out.add(canvas.column(share), format_real(x.low + share * (x.high - x.low)));
  }
  return out;
}

std::string caption(const Chart& chart, const Glyphs& glyphs, const Scale& x, const Scale& y) {
  std::string out = printable(chart.y_label) + (y.log ? ", logarithmic," : "");
  out += " by " + printable(chart.x_label) + (x.log ? ", logarithmic" : "");
  if (chart.series.size() > 1) {
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      out += fmt::format("{} {} {}", i == 0 ? ":" : ",", glyphs.series[i % glyphs.series.size()],
                         printable(chart.series[i].name));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> text_chart(const Chart& chart, const TextChartOptions& options) {
  if (chart.kind != ChartKind::kLines) return {};
  const Scale x = x_scale(chart);
  const Scale y = y_scale(chart);
  if (x.none() || y.none() || x.low >= x.high) return {};
  const bool joined = std::any_of(chart.series.begin(), chart.series.end(),
                                  [&](const auto& s) { return points_of(s, x, y).size() > 1; });
  if (!joined) return {};

  const Glyphs& glyphs = options.unicode ? kUnicode : kAscii;
  // A value at the left of the rows that have one; that of a limit before that of the axis' ends.
  std::array<std::string, kRows> values;
  values.front() = format_real(y.high);
  values.back() = format_real(y.low);
  for (const auto& limit : chart.limits)
    if (y.holds(limit.second))
      values[Canvas::row(y.place(limit.second))] = format_real(limit.second);
  std::size_t margin = 0;
  for (const std::string& value : values) margin = std::max(margin, display_width(value));
  const std::size_t columns =
      std::clamp(options.width - std::min(options.width, margin + 3), kFewestColumns, kMostColumns);

  Canvas canvas(columns, options.unicode);
  for (const auto& limit : chart.limits) {
    if (!y.holds(limit.second)) continue;
    const std::size_t row = Canvas::row(y.place(limit.second));
    for (std::size_t c = 0; c < columns; c += 2) canvas.put(c, row, glyphs.dash);
  }
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<Point> points = points_of(chart.series[s], x, y);
    const char* glyph = glyphs.series[s % glyphs.series.size()];
    const bool marked = points.size() <= kMostMarked;
    for (std::size_t i = 1; i < points.size(); ++i)
      canvas.join(points[i - 1], points[i], marked ? "." : glyph);
  }
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<Point> points = points_of(chart.series[s], x, y);
    if (points.size() > kMostMarked) continue;
    for (const Point& p : points)
      canvas.put(canvas.column(p.x), Canvas::row(p.y), glyphs.series[s % glyphs.series.size()]);
  }

  std::vector<std::string> out = {printable(chart.title)};
  for (std::size_t r = 0; r < kRows; ++r)
    out.push_back(fmt::format("{} {}{}", padded(values[r], margin), glyphs.bar, canvas.text(r)));
  std::string axis = std::string(margin + 1, ' ') + glyphs.corner;
  for (std::size_t c = 0; c < columns; ++c) axis += glyphs.line;
  out.push_back(axis);
  const std::string indent(margin + 2, ' ');
  out.push_back(indent + x_labels(chart, x, canvas, columns).text());
  Labels marks(columns);
  for (const ChartRegion& region : chart.regions) {
    if (region.from != region.to || !x.holds(region.from)) continue;
    marks.add_mark(canvas.column(x.place(region.from)), glyphs.mark, printable(region.name));
  }
  if (!marks.text().empty()) out.push_back(indent + marks.text());
  std::string below = caption(chart, glyphs, x, y);
  for (const auto& limit : chart.limits)
    below += fmt::format("; {0}{0} {1}", glyphs.dash, printable(limit.first));
  out.push_back(indent + below);
  return out;
}

namespace {

constexpr double kBarEnd = 3;       // times the limit: beyond, how far does not matter
constexpr double kBarBeyond = 1.2;  // times the limit, so that its mark is never the end

struct BarGlyphs {
  const char* line;
  const char* limit;
  const char* cut;
  const char* marks[3];
};
constexpr BarGlyphs kBarAscii = {"-", "|", ">", {"+", "?", "x"}};
constexpr BarGlyphs kBarUnicode = {"─", "│", "»", {"✔", "?", "✖"}};

}  // namespace

std::string text_bar(const TextBar& bar, std::size_t columns, bool unicode) {
  if (columns < 4 || !std::isfinite(bar.value) || bar.value < 0 || bar.limit <= 0) return {};
  const BarGlyphs& glyphs = unicode ? kBarUnicode : kBarAscii;
  const double end = std::clamp(bar.most, kBarBeyond * bar.limit, kBarEnd * bar.limit);
  const std::size_t last = columns - 1;
  const auto column = [&](double value) {
    return static_cast<std::size_t>(std::min(1.0, value / end) * static_cast<double>(last) + 0.5);
  };
  const std::size_t limit = std::clamp<std::size_t>(column(bar.limit), 1, last - 1);
  std::size_t at = column(bar.value);
  at = bar.value <= bar.limit ? std::min(at, limit - 1) : std::max(at, limit + 1);
  const bool cut = bar.value > end;
  std::string out;
  for (std::size_t i = 0; i <= std::max(at, limit); ++i) {
    if (i == at) {
      out += glyphs.marks[static_cast<std::size_t>(bar.mark)];
    } else if (i == limit) {
      out += glyphs.limit;
    } else if (i > at) {
      out += ' ';
    } else {
      out += cut && i + 1 == at ? glyphs.cut : glyphs.line;
    }
  }
  return out;
}

std::string text_limit(const std::string& limit, bool unicode) {
  return fmt::format("{} {}", unicode ? kBarUnicode.limit : kBarAscii.limit, limit);
}

}  // namespace spillway
