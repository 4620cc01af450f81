// What the drawings of all kinds of charts are made of: escaped text, lines and boxes of an SVG,
// and a legend. Units are those of the view box; a character is taken to be 6.6 wide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/charts/axis.hpp"
#include "reports/report.hpp"

namespace spillway {

inline constexpr double kDrawingWidth = 720;
inline constexpr std::size_t kColors = 6;

/// Where the marks of a chart go.
struct Plane {
  double left = 70;
  double right = kDrawingWidth - 16;
  double top = 12;
  double bottom = 254;
  double x(double share) const { return left + share * (right - left); }
  double y(double share) const { return bottom - share * (bottom - top); }
};

class Drawing {
 public:
  void line(std::string_view css, double x1, double y1, double x2, double y2);
  /// A box, with a tooltip unless `title` is empty.
  void box(std::string_view css, double x, double y, double width, double height,
           std::string_view title = {});
  /// `anchor`: start, middle or end. Text wider than `room` is cut short; its tooltip has all.
  void text(double x, double y, std::string_view anchor, std::string_view text, double room = 1e9);
  /// The same on top of lines, kept apart from them.
  void label(double x, double y, std::string_view anchor, std::string_view text, double room);
  /// On top of a box of a series' colour.
  void inside(double x, double y, std::string_view text);
  void path(std::string_view css, std::string_view d);
  /// A mark whose form goes by `series`, around a point.
  void mark(std::size_t series, double x, double y, std::string_view title);

  /// A mark whose form and colour go by a status.
  void judged(Status status, double x, double y, std::string_view title);

  /// Names under their colours in rows from the top; returns how much height they took. `boxes`:
  /// parts of bars instead of lines.
  double legend(const std::vector<std::string>& names, bool boxes);

  /// Grid lines, tick labels and axis titles below and at the left of the plane; returns how much
  /// height names took beyond a row of ticks.
  double frame(const Chart& chart, const Plane& plane, const Axis& x, const Axis& y);
  /// Grid lines from top to bottom and the labels and title below.
  void horizontal_axis(const Plane& plane, const Axis& axis, std::string_view title);

  /// The whole SVG; a screen reader reads the title and what is to see in it.
  std::string finish(const Chart& chart, double height) const;

 private:
  void write(std::string_view css, double x, double y, std::string_view anchor,
             std::string_view text, double room);
  double names_below(const Plane& plane, const Axis& axis, const std::vector<std::string>& names);

  std::string body_;
};

/// A round number: "20", "0.05", "10,000", "1e+12".
std::string tick_text(double value);
/// Roughly how wide text is drawn.
double text_width(std::string_view text);
/// The widest of them, at most `most`.
double widest(const std::vector<std::string>& texts, double most);
/// The class of a series among `prefix`0 to `prefix`5.
std::string series_class(char prefix, std::size_t series);
/// Dashes start elsewhere once the colours start over.
std::string line_class(std::size_t series);

// The kinds of charts, one file each.
std::string draw_lines(const Chart& chart);
std::string draw_tornado(const Chart& chart);
std::string draw_stacks(const Chart& chart);
std::string draw_heatmap(const Chart& chart);

}  // namespace spillway
