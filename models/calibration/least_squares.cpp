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
constexpr double kSlopeStep = 1e-6;     // of a parameter's range
constexpr double kNormal95 = 1.959964;  // of the normal distribution: two-sided 95%

/// Inwards of the bounds.
double slope_step(const Parameter& parameter, double at) {
  const double h = kSlopeStep * (parameter.high - parameter.low);
  return at + h <= parameter.high ? h : -h;
}

double huber_weight(double error) {
  return std::min(1.0, kOutlier / std::max(std::abs(error), 1e-12));
}

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
      const double weight = huber_weight(e);
      Eigen::VectorXd slope(count);
      for (Eigen::Index k = 0; k < count; ++k) {
        const auto j = static_cast<std::size_t>(k);
        // In units of the parameter's range.
        const double range = parameters[j].high - parameters[j].low;
        const double h = slope_step(parameters[j], at[j]);
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

std::vector<ParameterInterval> parameter_intervals(
    std::span<const Parameter> parameters, std::span<const double> at,
    std::span<const double> measured,
    const std::function<double(std::span<const double>, std::size_t)>& predict) {
  std::vector<std::size_t> inside;  // the bounds
  std::vector<ParameterInterval> out;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    out.push_back({at[j], at[j]});
    if (!parameters[j].on_bound(at[j])) inside.push_back(j);
  }
  const auto count = static_cast<Eigen::Index>(inside.size());
  if (count == 0 || measured.size() <= inside.size()) return out;
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(count, count);
  std::vector<double> moved(at.begin(), at.end());
  double squares = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double e = det::ln(predict(at, i) / measured[i]);
    const double weight = huber_weight(e);
    squares += weight * e * e;
    Eigen::VectorXd slope(count);
    for (Eigen::Index k = 0; k < count; ++k) {
      const std::size_t j = inside[static_cast<std::size_t>(k)];
      const double h = slope_step(parameters[j], at[j]);
      moved[j] = at[j] + h;
      slope(k) = (det::ln(predict(moved, i) / measured[i]) - e) / h *
                 (parameters[j].high - parameters[j].low);
      moved[j] = at[j];
    }
    normal += weight * slope * slope.transpose();
  }
  // The pseudo-inverse: what no value depends on has no slope to divide by.
  const Eigen::MatrixXd inverse = normal.completeOrthogonalDecomposition().pseudoInverse();
  const double variance = squares / static_cast<double>(measured.size() - inside.size());
  for (Eigen::Index k = 0; k < count; ++k) {
    const std::size_t j = inside[static_cast<std::size_t>(k)];
    const double half = kNormal95 * std::sqrt(std::max(0.0, variance * inverse(k, k))) *
                        (parameters[j].high - parameters[j].low);
    out[j] = {std::max(parameters[j].low, at[j] - half),
              std::min(parameters[j].high, at[j] + half)};
  }
  return out;
}

}  // namespace spillway
