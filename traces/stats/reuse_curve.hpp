// Hits of an LRU cache at every capacity, exactly, in one pass.
//
// LRU keeps the most recently touched blocks whatever its capacity, so a reference hits a cache of
// C blocks iff fewer than C distinct other blocks were touched since its own last touch: its stack
// distance (Mattson et al., 1970). Counted distances give the hits at all capacities at once, equal
// to a replay at each of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/replay_order.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// Counts by stack distance, summed up: entry C is the hits of a cache of C blocks.
class HitCurve {
 public:
  HitCurve() = default;
  /// The last entry is an infinite cache's.
  explicit HitCurve(std::vector<std::uint64_t> hits_by_capacity)
      : hits_(std::move(hits_by_capacity)) {}

  /// From the number of unique blocks up, the hits of an infinite cache.
  std::uint64_t hits(std::uint64_t capacity_blocks) const {
    return capacity_blocks < hits_.size() ? hits_[capacity_blocks] : infinite_hits();
  }
  std::uint64_t infinite_hits() const { return hits_.empty() ? 0 : hits_.back(); }
  /// References that hit from a capacity of `distance + 1` blocks up.
  std::uint64_t at_distance(std::uint64_t distance) const {
    return hits(distance + 1) - hits(distance);
  }
  /// The smallest cache with at least this many hits; at most `infinite_hits()` may be asked for.
  std::uint64_t capacity_for(std::uint64_t hits) const;
  /// No larger cache hits more.
  std::uint64_t last_capacity() const { return hits_.empty() ? 0 : hits_.size() - 1; }

 private:
  std::vector<std::uint64_t> hits_;  ///< up to the smallest cache that hits as an infinite one does
};

/// One point of a curve.
struct CurvePoint {
  std::uint64_t capacity_blocks = 0;
  std::uint64_t hits = 0;
};

struct ReuseCurve {
  std::uint64_t references = 0;
  std::uint64_t unique_blocks = 0;
  HitCurve block;   ///< every resident block counts
  HitCurve prefix;  ///< only the leading resident run of each request counts
};

/// Which of its two curves a count is to make.
enum class CountedHits : std::uint8_t { kBlock, kPrefix, kBoth };

/// Counts requests as they come. Time grows with the runs of blocks that were last touched one
/// after the other, which chains consist of; memory with 4 bytes a unique block, at most 2 for the
/// order of their touches, and 8 to 16 a distance for each curve.
class ReuseCounter {
 public:
  using Chain = std::span<const TraceBlockId>;

  /// `references_expected`: as many, where that is known, are taken without growing.
  ReuseCounter(TouchOrder order, Atomicity atomicity, CountedHits counted,
               std::uint64_t references_expected = 0);
  ~ReuseCounter();
  ReuseCounter(ReuseCounter&&) noexcept;
  ReuseCounter& operator=(ReuseCounter&&) noexcept;

  /// Requests in order; ids are dense by first appearance.
  void add(const RequestBatch& batch);
  ReuseCurve curve() &&;

 private:
  class Counting;
  std::unique_ptr<Counting> counting_;
};

/// As `replay_cache` with LRU counts, for every capacity: both curves.
ReuseCurve reuse_curve(const Workload& workload, TouchOrder order, Atomicity atomicity);

}  // namespace spillway
