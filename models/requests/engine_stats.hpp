// What an engine's parts have counted by the end of a run: plain figures, each filled by the part
// that knows it (report()); what a family does not have stays 0 or empty.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/write_admission_policy.hpp"
#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace spillway {

class StorageDevice;
class Level;
class TierStack;

struct PrefixCacheCounters {
  std::uint64_t queries = 0;  ///< full blocks asked for, at first admissions
  std::uint64_t hits = 0;
  std::uint64_t hits_resumed = 0;  ///< by requests that had been preempted
};

struct OffloadCounters {
  std::uint64_t queries = 0;       ///< full blocks asked for beyond HBM's hits, at first admissions
  std::uint64_t hits = 0;          ///< of these, loaded
  std::uint64_t hits_resumed = 0;  ///< loaded by requests that had been preempted
  std::uint64_t store_failures = 0;  ///< batches refused for want of evictable blocks
  std::uint64_t no_room = 0;         ///< blocks that are not copied, as the tier has no room
  std::uint64_t store_jobs = 0;
  std::uint64_t load_jobs = 0;
  std::uint64_t flushes = 0;         ///< steps that waited for a store
  std::uint64_t stores_skipped = 0;  ///< offered blocks kept out by store_threshold
  /// Blocks that write admission kept out, by why; an offer counts once it is settled.
  std::array<std::uint64_t, kWriteVerdicts> refused{};
};

/// Requests swapped out whole, in steps that ran.
struct SwapStats {
  /// The swap-out that the engine died of.
  struct Fatal {
    RequestId request{};
    std::uint32_t needed = 0;  ///< CPU blocks
    std::uint32_t free = 0;
  };
  std::uint64_t requests_out = 0;
  std::uint64_t requests_in = 0;
  std::uint64_t blocks_out = 0;
  std::uint64_t blocks_in = 0;
  std::uint32_t peak_requests = 0;  ///< swapped out at once
  std::uint32_t peak_blocks = 0;
  Duration stall{};  ///< steps were longer by the copies
  std::optional<Fatal> fatal{};
};

/// Of a tier that holds what HBM gave up, and gives it back: levels tell of what can be found
/// there.
struct ExchangeStats {
  std::uint64_t lost_stores = 0;  ///< blocks copied there that nothing could find any longer
  std::uint64_t other_ends = 0;   ///< blocks that left, and not to make room: loaded, or behind one
                                  ///< that left
  // Of the tiers behind the first, full blocks as OffloadCounters tells them:
  std::uint64_t queries = 0;
  std::uint64_t hits = 0;
  std::uint64_t hits_resumed = 0;
};

/// What was decided of the prefixes that could be loaded.
struct LoadDecisions {
  std::uint64_t loaded = 0;
  std::uint64_t recomputed = 0;
};

/// A tier that keeps chunks, in chunks; what is shared is told by the first that has it.
struct ChunkTierStats {
  std::uint64_t queries = 0;  ///< asked for behind the nearer tiers' hits, at first admissions
  std::uint64_t hits = 0;     ///< of these, read from here
  std::uint64_t hits_resumed = 0;
  std::uint64_t refused = 0;        ///< were to be written and found no room
  std::uint64_t filtered = 0;       ///< blocks that a filter kept out
  std::uint64_t unreachable = 0;    ///< writes dropped, and reads that failed, in an outage
  std::uint64_t lost = 0;           ///< found by a look-up, gone or late when they were read
  std::uint64_t ticks = 0;          ///< of eviction by the clock, that found it too full
  std::uint64_t idle_ticks = 0;     ///< of these, that found nothing to drop
  std::uint64_t missing_reads = 0;  ///< files gone before their read, which nobody was told
  // Of the tier itself:
  std::uint64_t stored = 0;
  std::uint64_t evicted = 0;
  std::uint64_t held = 0;
  std::int64_t peak_bytes = 0;
  const StorageDevice* device = nullptr;  ///< null: reached by links, or none

  /// `asked` chunks were, of which `found` are read from here. Those that tiers behind are asked
  /// for.
  std::uint64_t count_lookup(bool resumed, std::uint64_t asked, std::uint64_t found) {
    (resumed ? hits_resumed : hits) += found;
    if (!resumed) queries += asked;
    return asked - std::min(asked, found);
  }
};

struct EngineStats {
  PrefixCacheCounters prefix;  ///< HBM's
  std::uint64_t hbm_evictions = 0;
  OffloadCounters offload;                        ///< the tier below
  std::optional<SwapStats> swap{};                ///< where requests may be swapped out
  std::vector<ExchangeStats> exchange{};          ///< by tier, where blocks change places
  std::optional<LoadDecisions> load_decisions{};  ///< where loads compete with recomputation
  std::uint64_t deferrals = 0;                    ///< look-ups put off
  Duration flush_stall{};                         ///< steps waited for stores
  std::uint64_t load_stalls = 0;                  ///< steps that waited for loads
  Duration load_stall{};
  Duration copy_harm{};                       ///< what copies added to the time of steps
  Duration connector{};                       ///< what the connector's own costs did
  Duration collective{};                      ///< spent in collectives of ranks
  std::vector<ChunkTierStats> chunk_tiers{};  ///< below HBM, nearest first, where they keep chunks
  std::uint64_t load_failures = 0;            ///< requests whose load did not come whole
  std::vector<const Level*> levels{};         ///< the tiers behind the first, as they are
  const TierStack* stack = nullptr;           ///< over these, where there is one
  /// Clients of the tier below; none where that is memory.
  std::span<const std::unique_ptr<StorageDevice>> storage{};
};

/// What one tier holds, in engine blocks, and what has entered and left it.
struct TierLevel {
  std::uint64_t stored = 0;
  std::uint64_t evicted = 0;
  std::uint32_t resident = 0;
  std::uint32_t used = 0;
  bool operator==(const TierLevel&) const = default;
};

}  // namespace spillway
