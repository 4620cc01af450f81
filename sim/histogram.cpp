#include "sim/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr int kSubBucketBits = 10;

std::size_t bucket_of(std::uint64_t value) {
  const int width = static_cast<int>(std::bit_width(value));
  if (width <= kSubBucketBits + 1) return value;  // below 2048 every value has its own bucket
  const int shift = width - (kSubBucketBits + 1);
  return (static_cast<std::size_t>(shift) << kSubBucketBits) + (value >> shift);
}

double midpoint_of(std::size_t bucket) {
  if (bucket < (std::size_t{2} << kSubBucketBits)) return static_cast<double>(bucket);
  const std::size_t shift = (bucket >> kSubBucketBits) - 1;
  const std::uint64_t low = (bucket - (shift << kSubBucketBits)) << shift;
  return static_cast<double>(low) + static_cast<double>(std::uint64_t{1} << shift) / 2;
}

/// numpy's linear interpolation between the order statistics around position q * (n - 1).
double quantile(double q, std::uint64_t n, const std::function<double(std::uint64_t)>& at_rank) {
  const double position = q * static_cast<double>(n - 1);
  const auto low = static_cast<std::uint64_t>(position);
  const auto high = std::min(low + 1, n - 1);
  const double t = position - static_cast<double>(low);
  const double a = at_rank(low);
  const double b = at_rank(high);
  return t >= 0.5 ? b - (b - a) * (1 - t) : a + (b - a) * t;
}

}  // namespace

void LogHistogram::add(std::int64_t value, std::uint64_t count) {
  const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(value));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  buckets_[bucket] += count;
}

void LogHistogram::add(const LogHistogram& other) {
  if (buckets_.size() < other.buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
}

double LogHistogram::at_rank(std::uint64_t rank) const {
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (rank < seen) return midpoint_of(bucket);
  }
  KV_ASSERT(false, "rank {} of {} samples", rank, seen);
}

void LatencySamples::add(Duration value, std::uint64_t count) {
  const std::int64_t v = value.count();
  KV_ASSERT(v >= 0, "a latency of {} ns", v);
  if (count == 0) return;
  count_ += count;
  max_ = std::max(max_, v);
  sum_ += static_cast<WideInt>(v) * static_cast<WideInt>(count);
  sum_of_squares_ += static_cast<WideInt>(v) * v * static_cast<WideInt>(count);
  if (!spilled_ && count_ > kExactLimit) spill();
  if (spilled_) {
    histogram_.add(v, count);
  } else {
    exact_.insert(exact_.end(), count, v);
  }
}

void LatencySamples::add(const LatencySamples& other) {
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  sum_of_squares_ += other.sum_of_squares_;
  if (!spilled_ && (other.spilled_ || count_ > kExactLimit)) spill();
  if (!spilled_) {
    exact_.insert(exact_.end(), other.exact_.begin(), other.exact_.end());
    return;
  }
  for (const std::int64_t v : other.exact_) histogram_.add(v, 1);
  histogram_.add(other.histogram_);
}

void LatencySamples::spill() {
  for (const std::int64_t v : exact_) histogram_.add(v, 1);
  exact_ = {};
  spilled_ = true;
}

double LatencySamples::mean_ms() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_) / 1e6;
}

LatencyStats LatencySamples::stats() const {
  LatencyStats out;
  out.count = count_;
  if (count_ == 0) return out;
  const auto n = static_cast<WideInt>(count_);
  out.mean_ms = mean_ms();
  // Centre on the integer mean first: sum of (x - q)^2 stays exact in 128 bits.
  const WideInt q = sum_ / n;
  const WideInt centred = sum_of_squares_ - 2 * q * sum_ + n * q * q;
  const double rest = static_cast<double>(sum_ - q * n) / static_cast<double>(count_);
  const double variance = static_cast<double>(centred) / static_cast<double>(count_) - rest * rest;
  out.std_ms = std::sqrt(std::max(0.0, variance)) / 1e6;
  out.max_ms = static_cast<double>(max_) / 1e6;

  std::vector<std::int64_t> samples = exact_;
  // Ranks are asked for in ascending order: those before `from` that were asked for are in place.
  auto from = samples.begin();
  const auto at_rank = [&](std::uint64_t rank) {
    if (spilled_) return histogram_.at_rank(rank);
    const auto at = samples.begin() + static_cast<std::ptrdiff_t>(rank);
    if (at >= from) {
      std::nth_element(from, at, samples.end());
      from = at + 1;
    }
    return static_cast<double>(*at);
  };
  out.median_ms = quantile(0.50, count_, at_rank) / 1e6;
  out.p90_ms = quantile(0.90, count_, at_rank) / 1e6;
  out.p95_ms = quantile(0.95, count_, at_rank) / 1e6;
  out.p99_ms = quantile(0.99, count_, at_rank) / 1e6;
  out.quantile_error = spilled_ ? LogHistogram::kQuantileError : 0;
  return out;
}

}  // namespace spillway
