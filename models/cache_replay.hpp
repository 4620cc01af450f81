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
#include "sim/growing_column.hpp"
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

/// What policies may need to know of a workload beside its blocks; shared by all cells.
class ReplayFacts {
 public:
  ReplayFacts() = default;
  /// Makes what `needs` asks for. The workload outlives this.
  ReplayFacts(const Workload& workload, const PolicyNeeds& needs, Atomicity atomicity);

  const RequestFacts* requests() const { return requests_.get(); }
  const NextUse* future() const { return future_.get(); }

 private:
  std::unique_ptr<RequestFacts> requests_;
  std::unique_ptr<NextUse> future_;
};

/// One cell of a replay. `facts`, where the policy needs any, outlive it.
struct ReplaySetup {
  std::uint64_t capacity_blocks = kUnboundedCache;  ///< at least one
  TouchOrder order = TouchOrder::kReverse;
  Atomicity atomicity = Atomicity::kRequest;
  std::uint32_t block_tokens = 1;
  const ReplayFacts* facts = nullptr;
};

/// One cache under requests as they come. Ids of blocks must be dense by first appearance. Memory:
/// four bytes a unique block, four a slot, and the policy's state for as many slots as are ever in
/// use; nothing at all without a bound.
class CacheReplay {
 public:
  /// Throws InputError (exit 2) when the policy's parameters do not fit the capacity.
  CacheReplay(const EvictionChoice& policy, const ReplaySetup& setup);

  void run(const RequestBatch& batch);
  const ReplayCounts& counts() const { return counts_; }

 private:
  using Chain = std::span<const TraceBlockId>;

  void run_unbounded(Chain chain);
  void run_bounded(Chain chain, const Access& access);
  void look_up(Chain chain);
  template <class Iterator>
  void insert(Iterator at, Iterator end, const Access& access);
  template <class Iterator>
  Iterator touch_run(Iterator at, Iterator end, const Access& access);
  template <class Iterator>
  Iterator fill_run(Iterator at, Iterator end, const Access& access);
  template <class Iterator>
  Iterator replace_run(Iterator at, Iterator end, const Access& access);
  SlotId new_slot();
  bool resident(TraceBlockId block) const;

  ReplaySetup setup_;
  std::uint64_t most_at_once_ = 1;  ///< victims named in one call
  bool wants_chains_ = false;
  bool leading_ = true;      ///< by reference: no block of this request was absent so far
  std::uint32_t slots_ = 0;  ///< as many as the policy knows of
  std::uint32_t used_ = 0;   ///< slots that hold a block; all below this
  std::uint32_t blocks_ = 0;
  std::unique_ptr<SlotContents> contents_;  ///< where the policy finds it
  std::unique_ptr<EvictionPolicy> policy_;
  GrowingColumn<SlotId> slot_;     ///< by block: where it is, or kNoSlot
  std::vector<SlotId> run_;        ///< scratch: slots of one call to the policy
  std::vector<BlockId> incoming_;  ///< scratch: blocks that take their places
  std::vector<BlockId> chain_;     ///< of one look-up
  std::uint32_t known_ = 0;        ///< without a bound: ids below this have appeared
  ReplayCounts counts_;
};

/// The whole of a workload through one cache; what the policy needs to know is made from it. A
/// capacity of all unique blocks or more never evicts.
ReplayCounts replay_cache(const Workload& workload, const EvictionChoice& policy,
                          std::uint64_t capacity_blocks, TouchOrder order, Atomicity atomicity);

}  // namespace spillway
