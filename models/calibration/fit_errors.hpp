// How far predictions are off, summarised.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace spillway {

struct ErrorSummary {
  double mean = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
};

/// In percent of `measured`, which is positive.
inline double percent_off(double predicted, double measured) {
  return 100 * std::abs(predicted - measured) / measured;
}

/// Linear interpolation between order statistics (numpy's default). 0 of no values.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

inline ErrorSummary summarise(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  double sum = 0;
  for (const double error : errors) sum += error;
  return {sum / static_cast<double>(errors.size()), quantile(errors, 0.5), quantile(errors, 0.95),
          *std::max_element(errors.begin(), errors.end())};
}

}  // namespace spillway
