// A smaller trace with the same reuse: a share of the sessions, whose caches are smaller by the
// same share.
//
// Why it works. A hit needs a cache that holds what was touched since the last touch. With a tenth
// of the sessions, a tenth is touched in between, so a tenth of the cache gives the same hit ratio
// (SHARDS, Waldspurger et al., FAST 2015, for blocks; here whole sessions, so that the sample is a
// trace). It holds for what lies between a session's requests, not within a request, and not for
// blocks that many sessions share: those are as far apart in the sample as in the trace.
//
// How. Units (sample_units.hpp) are chosen at random but balanced (balanced_choice.hpp) in their
// requests, references, first uses, output tokens, load over time and distances of reuse. The
// hit-ratio curve of the choice is then measured and compared with the trace's, capacities scaled.
// Several choices are tried, first with small units and then with larger ones, which keep more
// sharing but are fewer and less even over time; the first within half of the allowed difference
// is taken, else the best. A difference above the allowed one is for the caller to refuse.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

struct SampleOptions {
  double share = 0.1;
  double max_difference = 0.02;  ///< of hit ratios
  std::uint64_t seed = 1;
};

/// LRU's hit ratio (block semantics, reverse touch order, request by request) at one capacity.
struct SampledRatio {
  std::uint64_t capacity_blocks = 0;
  std::uint64_t sample_blocks = 0;  ///< share * capacity, at least 1
  double original = 0;
  double sample = 0;
  double difference() const { return sample - original; }
};

struct TraceSample {
  Workload workload;
  /// At 1, 5, 10, 25 and 50% of the unique blocks.
  std::vector<SampledRatio> ratios;
  /// Over these and a dense range of capacities from 1 to 100% of the unique blocks.
  double largest_difference = 0;
  /// The share of the trace's references that is kept in each eighth of its time that has any.
  std::vector<double> kept_by_time;
  std::uint32_t units = 0;         ///< there are
  std::uint32_t chosen_units = 0;  ///< in the sample
  std::uint32_t choices = 0;       ///< measured
};

TraceSample sample_trace(const Workload& workload, const SampleOptions& options);

}  // namespace spillway
