// Cache-only replay: hit counts of one policy at one capacity, without a clock.
//
// Two replay models. Request-atomic: every block of a request is looked up against the cache as it
// stood before the request, then the blocks are inserted in touch order; a resident one is touched,
// an absent one inserted as newest, and where that exceeds the capacity a victim leaves, never the
// newcomer. Reference-atomic: each block is looked up, counted and inserted by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "policies/catalogue.hpp"
#include "sim/replay_order.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct ReplayCounts {
  std::uint64_t references = 0;
  std::uint64_t block_hits = 0;   ///< every resident block counts
  std::uint64_t prefix_hits = 0;  ///< only the leading resident run of each request counts
  std::uint64_t evictions = 0;
};

/// `capacity_blocks` of at least one; anything from the number of unique blocks up never evicts.
ReplayCounts replay_cache(const Workload& workload, const EvictionEntry& policy,
                          std::uint64_t capacity_blocks, TouchOrder order, Atomicity atomicity);

}  // namespace spillway
