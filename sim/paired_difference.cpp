#include "sim/paired_difference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/error.hpp"
#include "sim/student_t.hpp"

namespace spillway {

namespace {

/// Of the mean of `n` differences.
double error_of(double variance, std::size_t n, Replication replication) {
  const double share = 1 / static_cast<double>(n);
  return std::sqrt(variance * (replication == Replication::kIndependent ? share : 1 + share));
}

}  // namespace

double noise_of(double variance, std::size_t n, Replication replication) {
  return student_t_quantile(kConfidence, static_cast<std::uint32_t>(n - 1)) *
         error_of(variance, n, replication);
}

double mean_of(std::span<const double> values) {
  KV_ASSERT(!values.empty(), "the mean of nothing");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variance_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

PairedDifference paired_difference(std::span<const double> variant,
                                   std::span<const double> baseline, Replication replication) {
  KV_ASSERT(variant.size() == baseline.size() && !variant.empty(), "{} values against {}",
            variant.size(), baseline.size());
  std::vector<double> differences;
  PairedDifference out;
  for (std::size_t i = 0; i < variant.size(); ++i) {
    differences.push_back(variant[i] - baseline[i]);
    out.any = out.any || differences.back() != 0;
  }
  out.mean = mean_of(differences);
  out.variance = variance_of(differences);
  if (differences.size() < kLeastReplications) return out;
  const auto dof = static_cast<std::uint32_t>(differences.size() - 1);
  const double error = error_of(out.variance, differences.size(), replication);
  const double half = noise_of(out.variance, differences.size(), replication);
  DifferenceInterval interval{out.mean - half, out.mean + half, 1};
  if (error > 0) {
    interval.p = student_t_p(out.mean / error, dof);
  } else if (out.any) {
    interval.p = 0;  // the same difference every time
  }
  out.interval = interval;
  return out;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double scaled = p[order[i]] * static_cast<double>(p.size() - i);
    largest = std::max(largest, std::min(1.0, scaled));
    out[order[i]] = largest;
  }
  return out;
}

}  // namespace spillway
