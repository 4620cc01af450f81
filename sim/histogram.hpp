// Latency statistics: exact while they fit, then a histogram with a stated quantile error.
//
// Percentiles interpolate linearly between order statistics (numpy's default). Up to kExactLimit
// samples are kept and the quantiles are exact; beyond that a log-bucket histogram with 1,024
// sub-buckets per octave takes over, whose quantiles are off by at most kQuantileError (relative).
// Mean and standard deviation (the population's) are exact in both cases: sums are 128-bit
// integers.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

/// Counts of non-negative integers in buckets whose width is at most 1/1024 of their value.
class LogHistogram {
 public:
  /// Half a bucket: the largest relative distance between a value and its bucket's midpoint.
  static constexpr double kQuantileError = 1.0 / 2048;

  void add(std::int64_t value, std::uint64_t count);
  void add(const LogHistogram& other);
  /// The value at 0-based rank `rank` of the sorted samples, to within kQuantileError.
  double at_rank(std::uint64_t rank) const;

 private:
  std::vector<std::uint64_t> buckets_;
};

struct LatencyStats {
  std::uint64_t count = 0;
  double mean_ms = 0;
  double median_ms = 0;
  double std_ms = 0;
  double p90_ms = 0;
  double p95_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
  double quantile_error = 0;  ///< relative; 0 when the quantiles are exact
};

class LatencySamples {
 public:
  static constexpr std::uint64_t kExactLimit = 1'000'000;

  /// Precondition: value >= 0.
  void add(Duration value, std::uint64_t count = 1);
  /// All samples of `other`, as if each had been added here.
  void add(const LatencySamples& other);
  std::uint64_t count() const { return count_; }
  double mean_ms() const;
  LatencyStats stats() const;

 private:
  void spill();

  std::vector<std::int64_t> exact_;
  LogHistogram histogram_;
  bool spilled_ = false;
  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
  WideInt sum_ = 0;
  WideInt sum_of_squares_ = 0;
};

}  // namespace spillway
