// Cells by row and column, darker for more, in ten steps from the least to the most.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "reports/charts/drawing.hpp"
#include "reports/format.hpp"

namespace spillway {

namespace {

constexpr double kCellRow = 24;
constexpr double kCellNames = 200;
constexpr std::size_t kSteps = 10;

class Heatmap {
 public:
  explicit Heatmap(const Chart& chart) : chart_(chart) {
    for (const std::vector<double>& row : chart.cells) {
      columns_ = std::max(columns_, row.size());
      for (const double cell : row) {
        if (std::isfinite(cell)) values_.add(cell);
      }
    }
    if (values_.low > 0) values_.low = 0;  // a cell of nothing looks like nothing
  }

  std::string draw() {
    if (values_.empty()) return "";
    plane_.left = 12 + widest(chart_.y_names, kCellNames);
    plane_.top = 34;
    plane_.bottom = plane_.top + kCellRow * static_cast<double>(chart_.cells.size());
    scale();
    for (std::size_t r = 0; r < chart_.cells.size(); ++r) row(r);
    for (std::size_t step = 0; step < kSteps; ++step) {
      out_.path("cell h" + std::to_string(step), cells_[step]);
    }
    columns();
    return out_.finish(chart_, plane_.bottom + 46);
  }

 private:
  double x(std::size_t column) const {
    return plane_.x(static_cast<double>(column) / static_cast<double>(columns_));
  }

  std::size_t step_of(double value) const {
    // Halves first: the difference of two huge numbers may have no finite value.
    const double span = values_.high / 2 - values_.low / 2;
    if (span <= 0) return kSteps - 1;
    const double share = (value / 2 - values_.low / 2) / span;
    return std::min(kSteps - 1, static_cast<std::size_t>(share * kSteps));
  }

  /// Neighbours of one step are one box.
  void row(std::size_t r) {
    const std::vector<double>& cells = chart_.cells[r];
    const double y = plane_.top + kCellRow * static_cast<double>(r);
    const std::string name = r < chart_.y_names.size() ? chart_.y_names[r] : "";
    out_.text(plane_.left - 8, y + kCellRow / 2 + 4, "end", name, kCellNames);
    out_.box("frame", plane_.left, y, plane_.right - plane_.left, kCellRow);
    for (std::size_t c = 0; c < cells.size();) {
      std::size_t end = c + 1;
      if (std::isfinite(cells[c])) {
        const std::size_t step = step_of(cells[c]);
        while (end < cells.size() && std::isfinite(cells[end]) && step_of(cells[end]) == step) {
          ++end;
        }
        cells_[step] += fmt::format("M{:.1f} {:.1f}H{:.1f}v{:.0f}H{:.1f}z", x(c), y + 1, x(end),
                                    kCellRow - 2, x(c));
      }
      c = end;
    }
  }

  /// What the steps stand for, above the cells.
  void scale() {
    const std::string unit = chart_.unit.empty() ? "" : " " + chart_.unit;
    const std::string low = format_real(values_.low) + unit;
    out_.text(8, 18, "start", low, 160);
    double at = 16 + std::min(text_width(low), 160.0);
    for (std::size_t step = 0; step < kSteps; ++step, at += 16) {
      out_.box("cell h" + std::to_string(step), at, 8, 16, 12);
    }
    out_.text(at + 8, 18, "start", format_real(values_.high) + unit, 200);
  }

  void columns() {
    std::vector<std::string> names = chart_.x_names;
    names.resize(columns_);
    const double place = (plane_.right - plane_.left) / static_cast<double>(columns_);
    std::size_t step = 1;
    while (place * static_cast<double>(step) < std::min(widest(names, 120) + 12, 300.0)) ++step;
    for (std::size_t c = 0; c < columns_; c += step) {
      const double middle = (x(c) + x(c + 1)) / 2;
      out_.text(middle, plane_.bottom + 16, place > 40 ? "middle" : "start", names[c],
                std::min(place * static_cast<double>(step), kDrawingWidth - middle));
    }
    out_.text((plane_.left + plane_.right) / 2, plane_.bottom + 38, "middle", chart_.x_label, 400);
  }

  const Chart& chart_;
  Range values_;
  std::size_t columns_ = 0;
  Plane plane_;
  Drawing out_;
  std::array<std::string, kSteps> cells_;
};

}  // namespace

std::string draw_heatmap(const Chart& chart) {
  return Heatmap(chart).draw();
}

}  // namespace spillway
