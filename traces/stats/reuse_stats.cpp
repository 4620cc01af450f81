#include "traces/stats/reuse_stats.hpp"

#include <algorithm>
#include <cmath>

#include "sim/det_math.hpp"
#include "sim/quantile.hpp"
#include "traces/stats/reuse_curve.hpp"

namespace spillway {

namespace {

constexpr int kCurvePoints = 20;
constexpr std::int64_t kIntervals = 48;

std::vector<ReusePoint> sample(const ReuseCurve& curve, const Workload& workload) {
  std::vector<ReusePoint> out;
  const std::uint64_t unique_blocks = curve.unique_blocks;
  if (unique_blocks == 0) return out;
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  const double octaves = det::log2(static_cast<double>(unique_blocks));
  for (int i = 0; i < kCurvePoints; ++i) {
    const bool last = i + 1 == kCurvePoints;
    const double at = det::exp2(octaves * i / (kCurvePoints - 1));
    const auto capacity = last ? unique_blocks : static_cast<std::uint64_t>(std::llround(at));
    if (!out.empty() && capacity <= out.back().capacity_blocks) continue;
    const std::uint64_t hits = curve.block.hits(capacity);
    out.push_back({capacity, share(capacity, workload.unique_blocks()), hits,
                   share(hits, workload.references())});
  }
  return out;
}

/// Times since a block's last request, as (gap, references): neighbours in a chain mostly share it.
class Gaps {
 public:
  void add(std::int64_t gap_ns) {
    if (gaps_.empty() || gaps_.back().first != gap_ns) gaps_.emplace_back(gap_ns, 0);
    ++gaps_.back().second;
  }
  void finish(ReuseStats& out) {
    if (gaps_.empty()) return;
    std::sort(gaps_.begin(), gaps_.end());
    std::uint64_t count = 0;
    for (auto& [gap, up_to] : gaps_) up_to = count += up_to;
    const auto at = [&](std::uint64_t rank) {
      return std::upper_bound(gaps_.begin(), gaps_.end(), rank,
                              [](std::uint64_t r, const auto& entry) { return r < entry.second; })
          ->first;
    };
    out.median_gap_s = quantile(count, 0.5, at) / 1e9;
    out.p90_gap_s = quantile(count, 0.9, at) / 1e9;
  }

 private:
  std::vector<std::pair<std::int64_t, std::uint64_t>> gaps_;
};

/// First and last request of each block, and what follows from them.
class Uses {
 public:
  explicit Uses(const Workload& workload)
      : workload_(workload),
        first_(workload.unique_blocks(), 0),
        last_(workload.unique_blocks(), kNever),
        again_(workload.unique_blocks(), 0) {}

  void walk(ReuseStats& out) {
    const auto arrivals = workload_.columns().arrival_ns;
    const std::int64_t span = arrivals.back() - arrivals.front();
    const auto intervals = static_cast<std::size_t>(span > 0 ? kIntervals : 1);
    WorkingSet& set = out.working_set;
    set.interval_s = static_cast<double>(span) / 1e9 / static_cast<double>(intervals);
    set.unique.assign(intervals, 0);
    set.cumulative.assign(intervals, 0);
    std::size_t interval = 0;
    std::uint32_t interval_begin = 0;
    std::uint64_t seen = 0;
    for (std::uint32_t i = 0; i < workload_.size(); ++i) {
      // The last arrival, which ends the span, belongs to the last interval.
      const std::int64_t since = arrivals[i] - arrivals.front();
      const std::int64_t now = span > 0 ? std::min(since * kIntervals / span, kIntervals - 1) : 0;
      for (; interval < static_cast<std::size_t>(now); ++interval) {
        set.cumulative[interval] = seen;
        interval_begin = i;
      }
      for (const TraceBlockId id : workload_.chain(RequestId{i})) {
        std::uint32_t& last = last_[raw(id)];
        if (last == kNever) {
          ++seen;
          ++set.unique[interval];
          first_[raw(id)] = i;
        } else {
          again_[raw(id)] = 1;
          if (last < interval_begin) ++set.unique[interval];
          if (last != i) gaps_.add(arrivals[i] - arrivals[last]);
        }
        last = i;
      }
    }
    set.cumulative.back() = seen;
    set.peak_unique = *std::max_element(set.unique.begin(), set.unique.end());
    gaps_.finish(out);
    set.peak_live = peak_live();
    set.peak_live_tokens = set.peak_live * workload_.block_tokens();
    out.single_use_blocks = seen - static_cast<std::uint64_t>(
                                       std::count(again_.begin(), again_.end(), std::uint8_t{1}));
  }

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};

  std::uint64_t peak_live() const {
    std::vector<std::int64_t> change(workload_.size(), 0);
    for (std::size_t block = 0; block < first_.size(); ++block) {
      if (last_[block] == kNever || last_[block] == first_[block]) continue;
      ++change[first_[block]];
      --change[last_[block]];
    }
    std::int64_t live = 0;
    std::int64_t peak = 0;
    for (const std::int64_t step : change) peak = std::max(peak, live += step);
    return static_cast<std::uint64_t>(peak);
  }

  const Workload& workload_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> last_;
  std::vector<std::uint8_t> again_;  ///< named more than once
  Gaps gaps_;
};

}  // namespace

ReuseStats reuse_stats(const Workload& workload) {
  const ReuseCurve curve = reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest);
  ReuseStats out;
  out.infinite_hits = curve.block.infinite_hits();
  out.curve = sample(curve, workload);
  if (out.infinite_hits > 0) {
    const auto at = [&](std::uint64_t rank) { return curve.block.capacity_for(rank + 1) - 1; };
    out.median_distance_blocks = quantile(out.infinite_hits, 0.5, at);
    out.p90_distance_blocks = quantile(out.infinite_hits, 0.9, at);
    out.median_gap_s = out.p90_gap_s = 0;
  }
  Uses(workload).walk(out);
  return out;
}

}  // namespace spillway
