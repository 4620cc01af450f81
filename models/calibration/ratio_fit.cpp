#include "models/calibration/ratio_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/det_math.hpp"

namespace spillway {

namespace {

// What a profile document may say; far beyond what any kernel does against its form.
constexpr double kLeastRatio = 1e-3;
constexpr double kMostRatio = 1e3;

double at_least_one(double argument) {
  return std::max(argument, 1.0);
}

/// The value nearest to `argument`, in logarithms.
std::size_t nearest(const std::vector<double>& axis, double argument) {
  const auto next = std::lower_bound(axis.begin(), axis.end(), argument);
  if (next == axis.begin()) return 0;
  const auto index = static_cast<std::size_t>(next - axis.begin());
  if (next == axis.end()) return index - 1;
  return *next / argument < argument / *(next - 1) ? index : index - 1;
}

double weighted_median(std::vector<std::pair<double, double>>& values) {
  std::sort(values.begin(), values.end());
  double total = 0;
  for (const auto& [value, weight] : values) total += weight;
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].second;
    // The middle of the two where exactly half lies below.
    if (2 * below == total && i + 1 < values.size()) {
      return (values[i].first + values[i + 1].first) / 2;
    }
    if (2 * below > total) return values[i].first;
  }
  return values.back().first;
}

/// Interpolates the holes (NaN) of a line of cells; what lies beyond the outermost holds.
void fill_line(std::vector<double>& cells, std::size_t first, std::size_t stride,
               const std::vector<double>& axis) {
  const auto cell = [&](std::size_t i) -> double& { return cells[first + i * stride]; };
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    if (!std::isnan(cell(i))) known.push_back(i);
  }
  if (known.empty() || known.size() == axis.size()) return;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    if (!std::isnan(cell(i))) continue;
    const auto next = std::upper_bound(known.begin(), known.end(), i);
    if (next == known.begin() || next == known.end()) {
      cell(i) = cell(next == known.begin() ? known.front() : known.back());
      continue;
    }
    const std::size_t a = *(next - 1);
    const std::size_t b = *next;
    const double share = det::log2(axis[i] / axis[a]) / det::log2(axis[b] / axis[a]);
    cell(i) = cell(a) + share * (cell(b) - cell(a));
  }
}

}  // namespace

double rounded(double value, int digits) {
  if (value == 0) return 0;
  double least = 1;  // that many digits before the point
  for (int i = 1; i < digits; ++i) least *= 10;
  double scale = 1;
  while (std::abs(value) * scale < least) scale *= 10;
  while (std::abs(value) * scale >= least * 10) scale /= 10;
  return std::floor(value * scale + 0.5) / scale;
}

std::vector<double> thinned(std::vector<double> values, double spacing) {
  std::sort(values.begin(), values.end());
  std::vector<double> out;
  for (const double value : values) {
    if (out.empty() || (value > out.back() && value >= spacing * out.back())) out.push_back(value);
  }
  return out;
}

RatioGrid median_grid(std::span<const RatioPoint> points, const std::array<double, 3>& spacing,
                      const std::array<std::size_t, 3>& fill_order) {
  RatioGrid out;
  if (points.empty()) return out;
  std::array<std::size_t, 3> stride{};
  std::size_t size = 1;
  out.axes.resize(stride.size());
  for (std::size_t a = stride.size(); a-- > 0;) {
    std::vector<double> values;
    for (const RatioPoint& point : points) values.push_back(at_least_one(point.at[a]));
    out.axes[a] = thinned(std::move(values), spacing[a]);
    stride[a] = size;
    size *= out.axes[a].size();
  }
  std::map<std::size_t, std::vector<std::pair<double, double>>> cells;
  for (const RatioPoint& point : points) {
    std::size_t index = 0;
    for (std::size_t a = 0; a < stride.size(); ++a) {
      index += stride[a] * nearest(out.axes[a], at_least_one(point.at[a]));
    }
    cells[index].push_back({det::log2(std::max(point.ratio, kLeastRatio)), point.weight});
  }
  std::vector<double> logs(size, std::numeric_limits<double>::quiet_NaN());
  for (auto& [index, values] : cells) logs[index] = weighted_median(values);
  for (const std::size_t axis : fill_order) {
    const std::size_t block = stride[axis] * out.axes[axis].size();
    for (std::size_t first = 0; first < size; ++first) {
      if (first % block < stride[axis]) fill_line(logs, first, stride[axis], out.axes[axis]);
    }
  }
  for (const double value : logs) out.ratios.push_back(det::exp2(value));
  return out;
}

RatioGrid fit_grid(std::span<const RatioPoint> points, const std::array<double, 3>& spacing,
                   const std::array<std::size_t, 3>& fill_order) {
  RatioGrid out = median_grid(points, spacing, fill_order);
  for (double& ratio : out.ratios) ratio = kept_ratio(ratio);
  return out;
}

std::vector<std::size_t> kept_points(std::span<const double> x, std::span<const double> y,
                                     double tolerance) {
  std::vector<bool> kept(x.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> open;
  if (!x.empty()) {
    kept.front() = kept.back() = true;
    open.push_back({0, x.size() - 1});
  }
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    double most = tolerance;
    std::size_t furthest = first;
    for (std::size_t i = first + 1; i < last; ++i) {
      const double line =
          y[first] + (y[last] - y[first]) * (x[i] - x[first]) / (x[last] - x[first]);
      if (std::abs(y[i] - line) <= most) continue;
      most = std::abs(y[i] - line);
      furthest = i;
    }
    if (furthest == first) continue;
    kept[furthest] = true;
    open.push_back({first, furthest});
    open.push_back({furthest, last});
  }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) out.push_back(i);
  }
  return out;
}

double kept_ratio(double ratio) {
  return rounded(std::clamp(ratio, kLeastRatio, kMostRatio), 3);
}

}  // namespace spillway
