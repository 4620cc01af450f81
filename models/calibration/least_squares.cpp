#include "models/calibration/least_squares.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "sim/det_math.hpp"

namespace spillway {

namespace {

constexpr double kOutlier = 0.1;
constexpr int kMostSteps = 200;
constexpr double kLeastGain = 1e-9;

}  // namespace

std::vector<double> fit_bounded(
    std::span<const Parameter> parameters, std::span<const double> measured,
    const std::function<double(std::span<const double>, std::size_t)>& predict) {
  const auto count = static_cast<Eigen::Index>(parameters.size());
  std::vector<double> at;
  for (const Parameter& p : parameters) at.push_back(p.start);
  const auto off = [&](const std::vector<double>& p, std::size_t i) {
    return det::ln(predict(p, i) / measured[i]);
  };
  const auto loss = [&](const std::vector<double>& p) {  // Huber's
    double sum = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const double e = std::abs(off(p, i));
      sum += e <= kOutlier ? e * e / 2 : kOutlier * (e - kOutlier / 2);
    }
    return sum;
  };

  double damping = 1e-2;
  double now = loss(at);
  for (int step = 0; step < kMostSteps && damping < 1e9; ++step) {
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(count, count);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(count);
    std::vector<double> moved = at;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const double e = off(at, i);
      const double weight = std::min(1.0, kOutlier / std::max(std::abs(e), 1e-12));
      Eigen::VectorXd slope(count);
      for (Eigen::Index k = 0; k < count; ++k) {
        const auto j = static_cast<std::size_t>(k);
        // A step inwards of the bounds, in units of the parameter's range.
        const double range = parameters[j].high - parameters[j].low;
        const double h = (at[j] + 1e-6 * range <= parameters[j].high ? 1e-6 : -1e-6) * range;
        moved[j] = at[j] + h;
        slope(k) = (off(moved, i) - e) / h * range;
        moved[j] = at[j];
      }
      normal += weight * slope * slope.transpose();
      right -= weight * e * slope;
    }
    Eigen::MatrixXd damped = normal;
    for (Eigen::Index k = 0; k < count; ++k) damped(k, k) += damping * (normal(k, k) + 1e-12);
    const Eigen::VectorXd move = damped.ldlt().solve(right);
    for (Eigen::Index k = 0; k < count; ++k) {
      const auto j = static_cast<std::size_t>(k);
      const double range = parameters[j].high - parameters[j].low;
      moved[j] = std::clamp(at[j] + move(k) * range, parameters[j].low, parameters[j].high);
    }
    const double next = loss(moved);
    if (next < now) {
      const double gain = now - next;
      at = moved;
      now = next;
      damping = std::max(damping / 5, 1e-9);
      if (gain < kLeastGain * (now + kLeastGain)) break;
    } else {
      damping *= 4;
    }
  }
  return at;
}

}  // namespace spillway
