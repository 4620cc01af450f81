#include "models/calibration/product_curves.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/calibration/ratio_fit.hpp"
#include "sim/det_math.hpp"

namespace spillway {

namespace {

// A ratio is kept where the line between its neighbours misses it by more: steps where a tile of
// rows begins are, and what measurements scatter is not.
constexpr double kTolerance = 0.07;

// Shapes that tell what another lacks: near in (ln inputs, ln outputs), some of them.
constexpr double kFurthest = 1;
constexpr double kNearest = 1e-3;
constexpr std::size_t kFewest = 3;
constexpr std::size_t kMost = 6;

using Curve = std::map<double, double>;  // ln ratio by ln rows

struct Neighbour {
  double distance;
  const Curve* curve;
};

double on_line(double x, double x0, double y0, double x1, double y1) {
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

std::vector<Neighbour> neighbours_of(const std::pair<double, double>& shape,
                                     const std::map<std::pair<double, double>, Curve>& curves) {
  std::vector<Neighbour> out;
  for (const auto& [other, curve] : curves) {
    if (other == shape) continue;
    const double in = det::ln(other.first / shape.first);
    const double across = det::ln(other.second / shape.second);
    const double distance = std::sqrt(in * in + across * across);
    if (distance <= kFurthest) out.push_back({std::max(distance, kNearest), &curve});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
  return out;
}

/// `curve` with what it lacks of `rows` between its first and last.
Curve filled(const Curve& curve, const std::set<double>& rows,
             const std::vector<Neighbour>& neighbours) {
  Curve out = curve;
  for (const double x : rows) {
    if (curve.contains(x) || x < curve.begin()->first || x > curve.rbegin()->first) continue;
    const auto after = curve.upper_bound(x);
    const auto before = std::prev(after);
    double sum = 0;
    double weights = 0;
    std::size_t found = 0;
    for (const Neighbour& neighbour : neighbours) {
      const auto at = neighbour.curve->find(x);
      const auto low = neighbour.curve->find(before->first);
      const auto high = neighbour.curve->find(after->first);
      const auto none = neighbour.curve->end();
      if (at == none || low == none || high == none) continue;
      const double off =
          at->second - on_line(x, low->first, low->second, high->first, high->second);
      const double weight = 1 / (neighbour.distance * neighbour.distance);
      sum += weight * off;
      weights += weight;
      if (++found == kMost) break;
    }
    if (found < kFewest) continue;
    out[x] = on_line(x, before->first, before->second, after->first, after->second) + sum / weights;
  }
  return out;
}

}  // namespace

std::vector<ProductCurve> product_curves(const ProductRatios& ratios) {
  std::map<std::pair<double, double>, Curve> curves;
  std::map<double, double> rows;  // by their logarithm
  std::set<double> logs;
  for (const auto& [shape, by_rows] : ratios) {
    for (const auto& [count, ratio] : by_rows) {
      const double x = det::ln(count);
      rows[x] = count;
      logs.insert(x);
      curves[shape][x] = det::ln(ratio);
    }
  }
  std::vector<ProductCurve> out;
  for (const auto& [shape, curve] : curves) {
    std::vector<double> x;
    std::vector<double> y;
    for (const auto& [at, ratio] : filled(curve, logs, neighbours_of(shape, curves))) {
      x.push_back(at);
      y.push_back(ratio);
    }
    ProductCurve made{shape.first, shape.second, {}, {}};
    for (const std::size_t i : kept_points(x, y, kTolerance)) {
      made.rows.push_back(rows.at(x[i]));
      made.ratios.push_back(kept_ratio(det::exp(y[i])));
    }
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace spillway
