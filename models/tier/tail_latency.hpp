// A latency as a distribution: a table of quantiles, which is what a calibration measures.
//
// Between two quantiles the latency is linear in the probability, so the mean has a closed form and
// quantiles of the table are met exactly. Model: everything below the median is taken at the median
// (the mean is too high by at most a quarter of median - minimum) and nothing exceeds p999.
#pragma once

#include "sim/rng.hpp"
#include "sim/units.hpp"

namespace spillway {

/// In ascending order.
struct LatencyQuantiles {
  Duration p50{0};
  Duration p90{0};
  Duration p99{0};
  Duration p999{0};

  static constexpr LatencyQuantiles constant(Duration d) { return {d, d, d, d}; }
  constexpr bool ascending() const { return p50 <= p90 && p90 <= p99 && p99 <= p999; }
  constexpr bool varies() const { return p50 != p999; }
};

class TailLatency {
 public:
  /// Precondition: the quantiles ascend.
  explicit TailLatency(const LatencyQuantiles& quantiles);

  /// The quantile at `u` in [0, 1].
  Duration at(double u) const;
  /// The sum of `count` independent draws. A constant latency draws nothing.
  Duration draw(Stream& stream, std::uint32_t count = 1) const;
  double mean_ns() const;
  const LatencyQuantiles& quantiles() const { return quantiles_; }

 private:
  LatencyQuantiles quantiles_;
};

}  // namespace spillway
