// How a trace's blocks are used again: how soon, how often, and how many are in use at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

/// Equal intervals from the first arrival to the last.
struct WorkingSet {
  double interval_s = 0;                  ///< 0 for a span of 0, which is one interval
  std::vector<std::uint64_t> unique;      ///< distinct blocks that the interval's requests name
  std::vector<std::uint64_t> cumulative;  ///< distinct blocks since the trace's start
  std::uint64_t peak_unique = 0;
  /// Most blocks at a time that were named and would be again: what a cache that knew the future
  /// would hold to miss no reuse.
  std::uint64_t peak_live = 0;
  std::uint64_t peak_live_tokens = 0;
};

/// Hits of one capacity.
struct ReusePoint {
  std::uint64_t capacity_blocks = 0;
  double share_of_unique_blocks = 0;
  std::uint64_t hits = 0;
  double hit_ratio = 0;
};

struct ReuseStats {
  std::uint64_t single_use_blocks = 0;
  std::uint64_t infinite_hits = 0;
  /// Hits of an LRU cache that a whole request is looked up in before it touches its blocks, last
  /// block first; every resident block counts. About twenty capacities up to the unique blocks,
  /// evenly spaced in logarithm.
  std::vector<ReusePoint> curve;
  /// Over the references that hit an infinite cache: distinct other blocks touched since the
  /// block's last touch. -1: no reference does.
  double median_distance_blocks = -1;
  double p90_distance_blocks = -1;
  /// Over the same references, less repetitions within a request: time since the last request that
  /// named the block.
  double median_gap_s = -1;
  double p90_gap_s = -1;
  WorkingSet working_set;
};

ReuseStats reuse_stats(const Workload& workload);

}  // namespace spillway
