// Parameters within physical bounds that predict measured values with the least relative error.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace spillway {

struct Parameter {
  std::string_view name;
  double start;
  double low;
  double high;
  /// Within a thousandth of its range from a bound: the data asked for more.
  bool on_bound(double value) const {
    const double margin = 1e-3 * (high - low);
    return value < low + margin || value > high - margin;
  }
};

/// Levenberg-Marquardt on the logarithms of predicted over measured values, each step clipped to
/// the bounds; values off by more than 10% pull no harder than those off by 10%. `predict(p, i)` is
/// positive.
std::vector<double> fit_bounded(
    std::span<const Parameter> parameters, std::span<const double> measured,
    const std::function<double(std::span<const double>, std::size_t)>& predict);

}  // namespace spillway
