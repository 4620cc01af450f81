#include "scenarios/experiment/mser.hpp"

#include <vector>

namespace spillway {

namespace {

double mean_between(const std::vector<double>& values, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += values[i];
  return sum / static_cast<double>(to - from);
}

}  // namespace

MserResult mser5(std::span<const double> observations) {
  MserResult out;
  out.means = observations.size() / kMserBatch;
  out.enough = out.means >= kLeastMserMeans;
  if (!out.enough) return out;
  std::vector<double> means;
  for (std::size_t i = 0; i < out.means; ++i) {
    double sum = 0;
    for (const double x : observations.subspan(i * kMserBatch, kMserBatch)) sum += x;
    means.push_back(sum / static_cast<double>(kMserBatch));
  }
  const std::size_t n = out.means;
  const std::size_t most = n / 2;
  // From the end, as each d adds one mean to what is left (Welford's sums stay exact enough).
  double mean = 0;
  double squares = 0;
  double least = 0;
  std::size_t best = n;
  for (std::size_t d = n; d-- > 0;) {
    const auto left = static_cast<double>(n - d);
    const double apart = means[d] - mean;
    mean += apart / left;
    squares += apart * (means[d] - mean);
    if (d > most) continue;
    const double error = squares / (left * left);
    if (best == n || error <= least) {
      least = error;
      best = d;
    }
  }
  out.truncated = best * kMserBatch;
  out.settled = best < most || squares == 0;
  const std::size_t quarter = n / 4;
  out.drift =
      mean_between(means, n - quarter, n) - mean_between(means, n - 2 * quarter, n - quarter);
  return out;
}

}  // namespace spillway
