#include "reports/charts/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "reports/markup.hpp"
#include "reports/status.hpp"

namespace spillway {

namespace {

constexpr double kNarrow = 6.6;  // a Latin letter of 12 units, on the wide side
constexpr double kWide = 12;     // a Chinese character, an emoji

double width_of(unsigned char lead) {
  return lead < 0xe1 ? kNarrow : kWide;  // U+1000 and above
}

/// As much of `text` as `room` holds, an ellipsis at its end if that is not all.
std::string fitting(std::string_view text, double room) {
  if (text_width(text) <= room) return std::string(text);
  std::size_t characters = 1;  // the ellipsis
  double width = kNarrow;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) continue;
    width += width_of(byte);
    if (width > room) break;
    ++characters;
  }
  return shortened(text, characters);
}

}  // namespace

std::string tick_text(double value) {
  const double size = std::abs(value);
  const bool whole = size >= 1000 && size < 1e7;
  return whole ? format_real(value) : fmt::format("{:.6g}", value);
}

double text_width(std::string_view text) {
  double out = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) out += width_of(byte);
  }
  return out;
}

double widest(const std::vector<std::string>& texts, double most) {
  double out = 0;
  for (const std::string& text : texts) out = std::max(out, text_width(printable(text)));
  return std::min(out, most);
}

std::string series_class(char prefix, std::size_t series) {
  return prefix + std::to_string(series % kColors);
}

std::string line_class(std::size_t series) {
  return series_class('s', series) + " " + series_class('d', series + series / kColors);
}

void Drawing::line(std::string_view css, double x1, double y1, double x2, double y2) {
  body_ +=
      fmt::format("<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
                  css, x1, x2, y1, y2);
}

void Drawing::box(std::string_view css, double x, double y, double width, double height,
                  std::string_view title) {
  body_ +=
      fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"",
                  css, x, y, std::max(0.0, width), std::max(0.0, height));
  body_ += title.empty() ? std::string("/>")
                         : fmt::format("><title>{}</title></rect>", html_text(title, 300));
}

void Drawing::text(double x, double y, std::string_view anchor, std::string_view text,
                   double room) {
  write("", x, y, anchor, text, room);
}

void Drawing::label(double x, double y, std::string_view anchor, std::string_view text,
                    double room) {
  write(" class=\"label\"", x, y, anchor, text, room);
}

void Drawing::write(std::string_view css, double x, double y, std::string_view anchor,
                    std::string_view text, double room) {
  const std::string whole = printable(shortened(text, 300));
  const std::string shown = fitting(whole, room);
  const std::string title =
      shown == whole ? "" : fmt::format("<title>{}</title>", html_text(whole));
  body_ += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}{}</text>", css, x,
                       y, anchor, title, html_text(shown));
}

void Drawing::inside(double x, double y, std::string_view text) {
  body_ += fmt::format("<text class=\"inside\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">",
                       x, y) +
           html_text(text) + "</text>";
}

void Drawing::path(std::string_view css, std::string_view d) {
  if (!d.empty()) body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", css, d);
}

void Drawing::mark(std::size_t series, double x, double y, std::string_view title) {
  constexpr double kSize = 3.5;
  const std::string css = series_class('f', series);
  switch (series % 4) {
    case 0:
      body_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"", css, x, y,
                           kSize);
      break;
    case 1:
      body_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"6\" height=\"6\"",
                           css, x - 3, y - 3);
      break;
    case 2:
      body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z\"",
                           css, x, y - 4.5);
      break;
    default:
      body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l4.5 8h-9z\"", css, x, y - 5);
  }
  static constexpr std::string_view kNames[] = {"circle", "rect", "path", "path"};
  body_ += title.empty()
               ? std::string("/>")
               : fmt::format("><title>{}</title></{}>", html_text(title, 300), kNames[series % 4]);
}

void Drawing::judged(Status status, double x, double y, std::string_view title) {
  const std::string css = fmt::format("judged {}", class_of(status));
  const std::string name = fmt::format("><title>{}</title>", html_text(title, 300));
  switch (status) {
    case Status::kMissed:  // a cross
      body_ += fmt::format(
          "<path class=\"{}\" d=\"M{:.1f} {:.1f}l4 4l4 -4l3 3l-4 4l4 4l-3 3l-4 -4l-4 4l-3 -3l4 -4"
          "l-4 -4z\"{}</path>",
          css, x - 4, y - 7, name);
      break;
    case Status::kUncertain:
      body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l7 7l-7 7l-7 -7z\"{}</path>", css,
                           x, y - 7, name);
      break;
    case Status::kNone:
    case Status::kMet:
      body_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"{}</circle>",
                           css, x, y, name);
  }
}

double Drawing::legend(const std::vector<std::string>& names, bool boxes) {
  constexpr double kRow = 18;
  constexpr double kKey = 26;
  constexpr double kRoom = 200;
  double x = 8;
  double y = 14;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double width = kKey + widest({names[i]}, kRoom) + 20;
    if (x + width > kDrawingWidth && x > 8) {
      x = 8;
      y += kRow;
    }
    if (boxes) {
      box(series_class('f', i), x + 4, y - 10, 14, 11);
    } else {
      line(line_class(i), x, y - 4, x + 20, y - 4);
      mark(i, x + 10, y - 4, "");
    }
    text(x + kKey, y, "start", names[i], kRoom);
    x += width;
  }
  return names.empty() ? 0 : y + 6;
}

double Drawing::frame(const Chart& chart, const Plane& plane, const Axis& x, const Axis& y) {
  for (const double tick : y.ticks()) {
    const double at = plane.y(y.at(tick));
    line("grid", plane.left, at, plane.right, at);
    text(plane.left - 8, at + 4, "end", tick_text(tick));
  }
  double more = 0;
  if (chart.x_names.empty()) {
    for (const double tick : x.ticks()) {
      // A wide label at the right edge would be cut off.
      const double at = plane.x(x.at(tick));
      const bool edge = at > plane.right - 1;
      text(edge ? kDrawingWidth - 2 : at, plane.bottom + 18, edge ? "end" : "middle",
           tick_text(tick));
    }
  } else {
    more = names_below(plane, x, chart.x_names);
  }
  const char* log = " (log scale)";
  text((plane.left + plane.right) / 2, plane.bottom + 38 + more, "middle",
       chart.x_label + (chart.log_x && chart.x_names.empty() ? log : ""), plane.right - plane.left);
  body_ += fmt::format(
      "<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
      plane.y(0.5), html_text(chart.y_label + (chart.log_y ? log : ""), 40));
  return more;
}

/// As many of the names as fit beside each other in a row, or in two, at equal steps.
double Drawing::names_below(const Plane& plane, const Axis& axis,
                            const std::vector<std::string>& names) {
  const double place = (plane.right - plane.left) / static_cast<double>(names.size());
  const double wanted = widest(names, 50) + 10;  // longer ones are cut
  std::size_t step = 1;
  while (place * static_cast<double>(step) < wanted) ++step;
  const bool two_rows = step == 2;
  for (std::size_t i = 0; i < names.size(); i += two_rows ? 1 : step) {
    const double below = two_rows && i % 2 == 1 ? 32 : 18;
    text(plane.x(axis.at(static_cast<double>(i))), plane.bottom + below, "middle", names[i],
         std::max(place * static_cast<double>(step) - 6, 24.0));
  }
  return two_rows ? 14 : 0;
}

void Drawing::horizontal_axis(const Plane& plane, const Axis& axis, std::string_view title) {
  for (const double tick : axis.ticks()) {
    const double at = plane.x(axis.at(tick));
    line("grid", at, plane.top, at, plane.bottom);
    text(at, plane.bottom + 18, "middle", tick_text(tick));
  }
  text((plane.left + plane.right) / 2, plane.bottom + 38, "middle", title,
       plane.right - plane.left + 60);
}

std::string Drawing::finish(const Chart& chart, double height) const {
  const std::string label = chart.note.empty() ? chart.title : chart.title + ". " + chart.note;
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>",
                     kDrawingWidth, height, html_text(label, 600), body_);
}

}  // namespace spillway
