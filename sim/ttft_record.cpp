#include "sim/ttft_record.hpp"

#include <algorithm>
#include <bit>

namespace spillway {

namespace {

constexpr int kTtftBucketBits = 6;

std::size_t bucket_of(Duration ttft) {
  const auto value = static_cast<std::uint64_t>(ttft.count());
  const int width = static_cast<int>(std::bit_width(value));
  if (width <= kTtftBucketBits + 1) return value;
  const int shift = width - (kTtftBucketBits + 1);
  return (static_cast<std::size_t>(shift) << kTtftBucketBits) + (value >> shift);
}

bool slower(const RequestRecord& a, const RequestRecord& b) {
  const Duration of_a = a.first_token - a.arrival;
  const Duration of_b = b.first_token - b.arrival;
  return of_a != of_b ? of_a > of_b : raw(a.request) < raw(b.request);
}

double ms_of(Duration d) {
  return static_cast<double>(d.count()) / 1e6;
}

/// Ranks [from, to) of all requests in order of their times.
struct Range {
  const char* name;
  std::uint64_t from;
  std::uint64_t to;
};

}  // namespace

void TtftRecord::add(const RequestRecord& r) {
  const std::size_t at = bucket_of(r.first_token - r.arrival);
  if (at >= buckets_.size()) buckets_.resize(at + 1);
  Bucket& bucket = buckets_[at];
  ++bucket.requests;
  for (std::size_t i = 0; i < kTtftStages; ++i) bucket.stages[i] += r.ttft[i].count();

  if (slowest_.size() == kSlowest) {
    if (!slower(r, slowest_.front())) return;
    std::pop_heap(slowest_.begin(), slowest_.end(), slower);
    slowest_.pop_back();
  }
  slowest_.push_back(r);
  std::push_heap(slowest_.begin(), slowest_.end(), slower);
}

std::vector<TtftBand> TtftRecord::bands() const {
  std::uint64_t all = 0;
  for (const Bucket& bucket : buckets_) all += bucket.requests;
  // In hundredths, rounded down, whole parts first: no product overflows.
  const auto rank = [&](std::uint64_t percent) {
    return all / 100 * percent + all % 100 * percent / 100;
  };
  const Range ranges[] = {{"all", 0, all},
                          {"p0-p50", 0, rank(50)},
                          {"p50-p90", rank(50), rank(90)},
                          {"p90-p99", rank(90), rank(99)},
                          {"p99-p100", rank(99), all}};
  std::vector<TtftBand> out;
  for (const Range& range : ranges) {
    if (range.from == range.to) continue;
    TtftBand band;
    band.name = range.name;
    band.requests = range.to - range.from;
    std::uint64_t begin = 0;
    for (const Bucket& bucket : buckets_) {
      const std::uint64_t end = begin + bucket.requests;
      const std::uint64_t from = std::max(begin, range.from);
      const std::uint64_t to = std::min(end, range.to);
      begin = end;
      if (from >= to) continue;
      const double share = static_cast<double>(to - from) / static_cast<double>(bucket.requests);
      for (std::size_t i = 0; i < kTtftStages; ++i) {
        band.stage_ms[i] += share * static_cast<double>(bucket.stages[i]) / 1e6;
      }
    }
    for (double& ms : band.stage_ms) {
      ms /= static_cast<double>(band.requests);
      band.ttft_ms += ms;
    }
    out.push_back(std::move(band));
  }
  return out;
}

std::vector<SlowRequest> TtftRecord::slowest(std::size_t tiers) const {
  std::vector<RequestRecord> sorted = slowest_;
  std::sort(sorted.begin(), sorted.end(), slower);
  std::vector<SlowRequest> out;
  for (const RequestRecord& r : sorted) {
    SlowRequest s;
    s.request = raw(r.request);
    s.arrival_s = seconds_of(r.arrival);
    s.ttft_ms = ms_of(r.first_token - r.arrival);
    for (std::size_t i = 0; i < kTtftStages; ++i) s.stage_ms[i] = ms_of(r.ttft[i]);
    s.input_tokens = r.input_tokens;
    s.output_tokens = r.output_tokens;
    s.cached_tokens.assign(r.cached_tokens.begin(),
                           r.cached_tokens.begin() + static_cast<std::ptrdiff_t>(tiers));
    s.preemptions = r.preemptions;
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace spillway
