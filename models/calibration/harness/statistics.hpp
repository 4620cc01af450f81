// What the harness says of repeated samples. Nothing is discarded.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace spillway_harness {

struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  double p99 = 0;
  double cv = 0;  ///< standard deviation of the population / mean
};

/// Linear interpolation between order statistics, as numpy does. `sorted` ascends and is not empty.
inline double quantile_of(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

inline Summary summary_of(std::vector<double> samples) {
  Summary out;
  if (samples.empty()) return out;
  std::sort(samples.begin(), samples.end());
  out.median = quantile_of(samples, 0.5);
  out.p10 = quantile_of(samples, 0.1);
  out.p90 = quantile_of(samples, 0.9);
  out.p99 = quantile_of(samples, 0.99);
  double sum = 0;
  for (const double x : samples) sum += x;
  const double mean = sum / static_cast<double>(samples.size());
  double squares = 0;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  if (mean > 0) out.cv = std::sqrt(squares / static_cast<double>(samples.size())) / mean;
  return out;
}

/// How a cell spends its time: samples of `per_sample` batches each.
struct SamplePlan {
  int samples = 0;
  int per_sample = 1;
};

/// 20 samples of at least 2 ms each; where that would take longer than `limit_s`, the samples
/// shrink to one batch first, and then there are fewer of them, but never under 5. `batch_s`: how
/// long one batch took in the warm-up.
inline SamplePlan plan_samples(double batch_s, double limit_s, int most_per_sample) {
  constexpr int kSamples = 20;
  constexpr int kFewest = 5;
  constexpr double kSampleS = 0.002;
  SamplePlan out;
  const double batch = std::max(batch_s, 1e-7);
  const double wanted = std::ceil(kSampleS / batch);
  out.per_sample = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(most_per_sample)));
  out.samples = kSamples;
  if (kSamples * out.per_sample * batch <= limit_s) return out;
  const double affordable = std::floor(limit_s / (kSamples * batch));
  out.per_sample = static_cast<int>(std::clamp(affordable, 1.0, double(out.per_sample)));
  const double count = std::floor(limit_s / (out.per_sample * batch));
  out.samples = static_cast<int>(std::clamp(count, double(kFewest), double(kSamples)));
  return out;
}

}  // namespace spillway_harness
