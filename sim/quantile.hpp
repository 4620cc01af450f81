// Quantiles that interpolate linearly between order statistics (numpy's default).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace spillway {

/// `at(rank)`: the value at a 0-based rank of `count` sorted ones, count > 0.
template <class At>
double quantile(std::uint64_t count, double q, At at) {
  const double position = q * static_cast<double>(count - 1);
  const auto low = static_cast<std::uint64_t>(position);
  const double t = position - static_cast<double>(low);
  const auto value = static_cast<double>(at(low));
  if (t == 0) return value;
  return value + t * (static_cast<double>(at(std::min(low + 1, count - 1))) - value);
}

/// Of values that are sorted, at least one.
template <class T>
double quantile(const std::vector<T>& sorted, double q) {
  return quantile(sorted.size(), q, [&](std::uint64_t rank) { return sorted[rank]; });
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace spillway
