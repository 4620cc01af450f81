// Cache-only replay: hit counts of one policy at one capacity, without a clock.
//
// Two replay models. Request-atomic: every block of a request is looked up against the cache as it
// stood before the request, then the blocks are inserted in touch order; a resident one is touched,
// an absent one inserted as newest, and where that exceeds the capacity a victim leaves, never the
// newcomer. Reference-atomic: each block is looked up, counted and inserted by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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

/// Any capacity from this up is a cache that never evicts.
inline constexpr std::uint64_t kUnboundedCache = ~std::uint64_t{0};

/// One cache under requests as they come. Ids of blocks must be dense by first appearance. Memory:
/// four bytes a unique block, and the policy's state for as many slots as are ever in use; nothing
/// at all without a bound.
class CacheReplay {
 public:
  /// `capacity_blocks` is at least one.
  CacheReplay(const EvictionEntry& policy, std::uint64_t capacity_blocks, TouchOrder order,
              Atomicity atomicity);

  void run(const RequestBatch& batch);
  const ReplayCounts& counts() const { return counts_; }

 private:
  using Chain = std::span<const TraceBlockId>;

  void run_unbounded(Chain chain);
  void run_bounded(Chain chain, const Access& access);
  void look_up(Chain chain);
  template <class Iterator>
  void insert(Iterator at, Iterator end, const Access& access);
  SlotId take_slot(const Access& access);
  void put(TraceBlockId block, const Access& access);

  std::uint64_t capacity_;
  TouchOrder order_;
  Atomicity atomicity_;
  std::uint32_t slots_ = 0;  ///< as many as the policy knows of
  std::unique_ptr<EvictionPolicy> policy_;
  std::vector<SlotId> slot_;         ///< by block: where it is, or kAbsent
  std::vector<TraceBlockId> block_;  ///< by slot in use
  std::vector<SlotId> run_;          ///< slots of one call to the policy
  std::uint32_t known_ = 0;          ///< without a bound: ids below this have appeared
  ReplayCounts counts_;
};

/// The whole of a workload through one cache.
ReplayCounts replay_cache(const Workload& workload, const EvictionEntry& policy,
                          std::uint64_t capacity_blocks, TouchOrder order, Atomicity atomicity);

}  // namespace spillway
