#include "models/compute/ratio_grid.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kNeighbours = 6;
constexpr double kLn2 = 0.69314718055994530942;

std::vector<double> logs(const std::vector<double>& values) {
  std::vector<double> out;
  out.reserve(values.size());
  for (const double value : values) out.push_back(det::log2(value));
  return out;
}

/// The last of `at` not beyond `x`, and how far `x` is on the way to the next; the edges hold.
std::pair<std::size_t, double> locate(const std::vector<double>& at, double x) {
  if (at.size() == 1 || x <= at.front()) return {0, 0};
  if (x >= at.back()) return {at.size() - 1, 0};
  const auto next = std::upper_bound(at.begin(), at.end(), x);
  const auto index = static_cast<std::size_t>(next - at.begin()) - 1;
  return {index, (x - at[index]) / (at[index + 1] - at[index])};
}

}  // namespace

RatioTable::RatioTable(const RatioGrid& grid) {
  if (grid.empty()) return;
  KV_ASSERT(grid.axes.size() <= kMostAxes, "a grid of {} axes", grid.axes.size());
  std::size_t size = 1;
  for (std::size_t a = grid.axes.size(); a-- > 0;) {
    KV_ASSERT(!grid.axes[a].empty(), "an axis without values");
    axes_.insert(axes_.begin(), Axis{logs(grid.axes[a]), size});
    size *= grid.axes[a].size();
  }
  KV_ASSERT(grid.ratios.size() == size, "{} ratios for {} crossings", grid.ratios.size(), size);
  values_ = logs(grid.ratios);
}

/// An argument of 0 counts as 1.
double RatioTable::log_of(double argument) {
  return argument > 0 ? det::log2(argument) : 0;
}

RatioTable::Cell RatioTable::cell_of(const Axis& axis, double log) {
  const auto [index, share] = locate(axis.at, log);
  return {index, share};
}

RatioTable RatioTable::fixed(std::size_t axis, double value) const {
  if (empty()) return {};
  KV_ASSERT(axis < axes_.size(), "axis {} of {}", axis, axes_.size());
  const Axis& gone = axes_[axis];
  const Cell cell = cell_of(gone, log_of(value));
  const std::size_t step = cell.share > 0 ? gone.stride : 0;
  RatioTable out;
  const std::size_t block = gone.stride * gone.at.size();
  for (std::size_t outer = 0; outer < values_.size(); outer += block) {
    for (std::size_t inner = 0; inner < gone.stride; ++inner) {
      const std::size_t at = outer + inner + cell.index * gone.stride;
      out.values_.push_back(values_[at] + cell.share * (values_[at + step] - values_[at]));
    }
  }
  out.axes_ = axes_;
  out.axes_.erase(out.axes_.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::size_t a = 0; a < axis; ++a) out.axes_[a].stride /= gone.at.size();
  return out;
}

double RatioTable::log2_at(std::span<const double> logs) const {
  if (empty()) return 0;
  KV_ASSERT(logs.size() == axes_.size(), "{} arguments for {} axes", logs.size(), axes_.size());
  // Corners of the cell, doubled by each axis along which the argument lies between two values.
  std::array<std::size_t, std::size_t{1} << kMostAxes> at{};
  std::array<double, std::size_t{1} << kMostAxes> weight{};
  weight[0] = 1;
  std::size_t corners = 1;
  const double* log = logs.data();
  for (const Axis& axis : axes_) {
    const Cell cell = cell_of(axis, *log++);
    for (std::size_t c = 0; c < corners; ++c) at[c] += cell.index * axis.stride;
    if (cell.share == 0) continue;
    for (std::size_t c = 0; c < corners; ++c) {
      at[corners + c] = at[c] + axis.stride;
      weight[corners + c] = weight[c] * cell.share;
      weight[c] *= 1 - cell.share;
    }
    corners *= 2;
  }
  double sum = 0;
  for (std::size_t c = 0; c < corners; ++c) sum += weight[c] * values_[at[c]];
  return sum;
}

double RatioTable::at(std::initializer_list<double> arguments) const {
  if (empty()) return 1;
  KV_ASSERT(arguments.size() == axes_.size(), "{} arguments for {} axes", arguments.size(),
            axes_.size());
  std::array<double, kMostAxes> l{};
  std::transform(arguments.begin(), arguments.end(), l.begin(), log_of);
  return det::exp2(log2_at(std::span(l.data(), arguments.size())));
}

ProductRatio::ProductRatio(std::span<const ProductCurve> curves, double inputs, double outputs) {
  struct Near {
    double squared;
    const ProductCurve* curve;
  };
  std::vector<Near> near;
  for (const ProductCurve& curve : curves) {
    const double in = kLn2 * (det::log2(curve.inputs) - det::log2(inputs));
    const double out = kLn2 * (det::log2(curve.outputs) - det::log2(outputs));
    near.push_back({in * in + out * out, &curve});
  }
  if (near.empty()) return;
  // Stable: curves equally far keep the order of the profile.
  std::stable_sort(near.begin(), near.end(),
                   [](const Near& a, const Near& b) { return a.squared < b.squared; });
  distance_ = std::sqrt(near.front().squared);
  near.resize(distance_ == 0 ? 1 : std::min(near.size(), kNeighbours));
  double total = 0;
  for (const Near& n : near) {
    const double weight = distance_ == 0 ? 1 : 1 / (n.squared * n.squared);
    total += weight;
    parts_.push_back({weight, logs(n.curve->rows), logs(n.curve->ratios)});
  }
  for (Part& part : parts_) part.weight /= total;
}

double ProductRatio::at(double rows) const {
  if (parts_.empty()) return 1;
  const double x = RatioTable::log_of(rows);
  double sum = 0;
  for (const Part& part : parts_) {
    const auto [index, share] = locate(part.rows, x);
    double value = part.ratios[index];
    if (share > 0) value += share * (part.ratios[index + 1] - value);
    sum += part.weight * value;
  }
  return det::exp2(sum);
}

}  // namespace spillway
