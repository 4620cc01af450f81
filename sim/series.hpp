// A quantity over time in a bounded number of equal bins.
//
// The run's length is unknown while it runs, so bins start one second wide and double whenever the
// bound is reached: memory stays constant, and equal runs give equal bins.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

class BinnedSeries {
 public:
  static constexpr std::size_t kMaxBins = 1024;

  /// The quantity was `value` from `from` to `to`; adds value * seconds to each bin it covers.
  void add_level(Time from, Time to, double value);
  /// `amount` was spread evenly over [from, to); all of it falls at `from` when the two are equal.
  void add_amount(Time from, Time to, double amount);

  Duration bin_width() const { return width_; }
  /// Per bin: the integral of the level (value-seconds), or the amount.
  const std::vector<double>& bins() const { return bins_; }

 private:
  void cover(Time until);

  Duration width_ = std::chrono::seconds(1);
  std::vector<double> bins_;
};

}  // namespace spillway
