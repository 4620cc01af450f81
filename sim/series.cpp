#include "sim/series.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

void BinnedSeries::cover(Time until) {
  auto needed = static_cast<std::size_t>(until.time_since_epoch() / width_) + 1;
  while (needed > kMaxBins) {
    const std::size_t half = (bins_.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i) {
      bins_[i] = bins_[2 * i] + (2 * i + 1 < bins_.size() ? bins_[2 * i + 1] : 0);
    }
    bins_.resize(half);
    width_ *= 2;
    needed = static_cast<std::size_t>(until.time_since_epoch() / width_) + 1;
  }
  if (bins_.size() < needed) bins_.resize(needed);
}

void BinnedSeries::add_level(Time from, Time to, double value) {
  KV_ASSERT(from <= to, "an interval of negative length");
  if (from == to) return;
  cover(to);
  auto bin = static_cast<std::size_t>(from.time_since_epoch() / width_);
  while (from < to) {
    const Time edge = Time(width_ * static_cast<std::int64_t>(bin + 1));
    const Time until = std::min(edge, to);
    bins_[bin++] += value * seconds_of(until - from);
    from = until;
  }
}

void BinnedSeries::add_amount(Time from, Time to, double amount) {
  if (from == to) {
    cover(to);
    bins_[static_cast<std::size_t>(from.time_since_epoch() / width_)] += amount;
    return;
  }
  add_level(from, to, amount / seconds_of(to - from));
}

}  // namespace spillway
