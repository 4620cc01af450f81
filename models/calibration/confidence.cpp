#include "models/calibration/confidence.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace spillway {

namespace {

/// Points by when they begin.
std::vector<std::size_t> in_time(const std::vector<TimeSpan>& times) {
  std::vector<std::size_t> out(times.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  return out;
}

/// Calls `pair` with every two points of order[from, to) that share time, the earlier one first.
template <class Pair>
void each_shared(const std::vector<TimeSpan>& times, std::span<const std::size_t> order,
                 Pair&& pair) {
  for (std::size_t a = 0; a < order.size(); ++a) {
    const TimeSpan& first = times[order[a]];
    for (std::size_t b = a + 1; b < order.size() && times[order[b]].first < first.second; ++b) {
      pair(order[a], order[b], shared_noise(first, times[order[b]]));
    }
  }
}

}  // namespace

double shared_noise(const TimeSpan& a, const TimeSpan& b) {
  const double shared = std::min(a.second, b.second) - std::max(a.first, b.first);
  if (shared <= 0) return 0;
  return std::min(1.0, shared / std::sqrt((a.second - a.first) * (b.second - b.first)));
}

double common_noise(std::span<const double> residuals, const std::vector<TimeSpan>& times) {
  double products = 0;
  double squares = 0;
  const std::vector<std::size_t> order = in_time(times);
  each_shared(times, order, [&](std::size_t a, std::size_t b, double shared) {
    products += shared * residuals[a] * residuals[b];
    squares += shared * shared;
  });
  return squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 0;
}

double overdispersion(const FittedPoints& points) {
  // Enough blocks to tell a variance by, of enough points each.
  constexpr std::size_t kBlocks = 10;
  constexpr std::size_t kLeastPoints = 4 * kBlocks;
  const std::size_t count = points.times.size();
  if (count < kLeastPoints) return 1;
  const std::vector<std::size_t> order = in_time(points.times);
  double ratios = 0;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::size_t from = block * count / kBlocks;
    const std::size_t to = (block + 1) * count / kBlocks;
    const std::span<const std::size_t> within = std::span(order).subspan(from, to - from);
    double sum = 0;
    double expected = 0;
    for (const std::size_t i : within) {
      sum += points.residuals[i];
      expected += 1;
    }
    each_shared(points.times, within, [&](std::size_t, std::size_t, double shared) {
      expected += 2 * points.common * shared;
    });
    ratios += sum * sum / expected;
  }
  return std::max(1.0, ratios / kBlocks);
}

std::vector<std::vector<double>> covariance(const FittedPoints& points,
                                            std::span<const double> prior) {
  const auto count = static_cast<Eigen::Index>(prior.size());
  // In units of each prior, so that parameters of any size stand beside one another.
  const Eigen::VectorXd unit = Eigen::Map<const Eigen::VectorXd>(prior.data(), count);
  std::vector<Eigen::VectorXd> rows;
  for (const std::vector<double>& slope : points.slopes) {
    rows.emplace_back(Eigen::Map<const Eigen::VectorXd>(slope.data(), count).cwiseProduct(unit));
  }
  // Of each point, the weighed sum over all that share its noise, itself included.
  std::vector<Eigen::VectorXd> alike;
  for (std::size_t i = 0; i < rows.size(); ++i) alike.emplace_back(points.weights[i] * rows[i]);
  if (!points.times.empty()) {
    const std::vector<std::size_t> order = in_time(points.times);
    each_shared(points.times, order, [&](std::size_t a, std::size_t b, double shared) {
      alike[a] += points.common * shared * points.weights[b] * rows[b];
      alike[b] += points.common * shared * points.weights[a] * rows[a];
    });
  }
  const Eigen::MatrixXd belief = Eigen::MatrixXd::Identity(count, count);
  Eigen::MatrixXd weighed = belief;
  Eigen::MatrixXd noise = Eigen::MatrixXd::Zero(count, count);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    weighed += points.weights[i] * rows[i] * rows[i].transpose();
    noise += points.weights[i] * rows[i] * alike[i].transpose();
  }
  const Eigen::MatrixXd inverse = weighed.ldlt().solve(belief);
  const Eigen::MatrixXd found =
      inverse * (overdispersion(points) * noise + belief) * inverse.transpose();
  std::vector<std::vector<double>> out(prior.size());
  for (Eigen::Index k = 0; k < count; ++k) {
    for (Eigen::Index j = 0; j < count; ++j) {
      out[static_cast<std::size_t>(k)].push_back(found(k, j) * unit(k) * unit(j));
    }
  }
  return out;
}

}  // namespace spillway
