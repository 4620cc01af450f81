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

/// What the data says about one parameter around the optimum `at` of fit_bounded.
struct ParameterInterval {
  double low;
  double high;
};

/// 95% intervals from the Gauss-Newton covariance: residual variance times the inverse of the
/// squared slopes, both under the weights of fit_bounded; within the bounds. A parameter on a bound
/// is held there, so its interval is the value itself, and so is that of one that no value depends
/// on. Model: residuals are taken as independent noise; where the form itself is what is off,
/// intervals are too narrow.
std::vector<ParameterInterval> parameter_intervals(
    std::span<const Parameter> parameters, std::span<const double> at,
    std::span<const double> measured,
    const std::function<double(std::span<const double>, std::size_t)>& predict);

}  // namespace spillway
