// Cache-only replay through several tiers, near to far, each with a policy of its own: hits by the
// tier that served them, and the blocks that moved.
//
// Inclusive, as vLLM's eager write-through offloading does it (vllm/distributed/kv_transfer/
// kv_connector/v1/offloading/scheduler.py): a request's blocks are touched in every tier that has
// them and stored in every tier that lacks them; a hit below is thereby copied up and stays below;
// a victim is dropped. Each tier then evolves as a CacheReplay of its capacity would.
//
// Exclusive: a block is in one tier. A hit below moves it to the nearest tier; a tier's victim goes
// down to the next one, whose victim goes on, until a tier has room or the last one drops its own.
//
// Look-ups are as in CacheReplay, request-atomic or reference-atomic. A hit counts for the nearest
// tier that had the block; the leading run of prefix hits goes over all tiers together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/cache_replay.hpp"
#include "models/tier/inclusion.hpp"

namespace spillway {

struct ReplayTierSetup {
  EvictionChoice policy;
  std::uint64_t capacity_blocks = kUnboundedCache;  ///< at least one
};

struct ReplayTierCounts {
  std::uint64_t block_hits = 0;   ///< found here and in no nearer tier
  std::uint64_t prefix_hits = 0;  ///< of these, the ones in the leading run over all tiers
  std::uint64_t evictions = 0;    ///< victims: dropped, or moved down
  std::uint64_t blocks_in = 0;    ///< stored, copied or moved up, moved down
  std::uint64_t blocks_out = 0;   ///< evictions, and in exclusive tiers what moved up
};

struct TieredReplaySetup {
  Inclusion inclusion = Inclusion::kInclusive;
  TouchOrder order = TouchOrder::kReverse;
  Atomicity atomicity = Atomicity::kRequest;
  std::uint32_t block_tokens = 1;
  const ReplayFacts* facts = nullptr;
};

/// The blocks of one tier and who leaves it next.
class ReplayTier {
 public:
  ReplayTier(const ReplayTierSetup& tier, const TieredReplaySetup& setup);

  void grow(std::uint32_t blocks);
  bool has(TraceBlockId block) const { return slot_[raw(block)] != kNoSlot; }
  bool wants_chains() const { return policy_ != nullptr && policy_->wants_chains(); }
  void look_up(BlockSpan chain, const Access& access) { policy_->on_lookup(chain, access); }
  /// Precondition of touch() and take(): the tier has them; of put(): it has not.
  void touch(std::span<const TraceBlockId> blocks, const Access& access);
  /// The block that there is no room for any more: a victim, `block` itself where the policy sees
  /// the future and would rather not have it, or none.
  std::optional<TraceBlockId> put(TraceBlockId block, const Access& access);
  /// The block leaves upwards.
  void take(TraceBlockId block);
  /// It left and came back at once.
  void forget_move();

  std::uint64_t resident() const { return resident_; }
  std::uint64_t capacity() const { return capacity_; }
  ReplayTierCounts& counts() { return counts_; }
  const ReplayTierCounts& counts() const { return counts_; }

 private:
  SlotId free_slot();

  std::uint64_t capacity_;
  std::uint64_t resident_ = 0;
  std::uint32_t slots_ = 0;  ///< as many as the policy knows of
  std::uint32_t used_ = 0;   ///< slots that ever held a block
  std::uint32_t blocks_ = 0;
  std::unique_ptr<SlotContents> contents_;  ///< where the policy finds it
  std::unique_ptr<EvictionPolicy> policy_;  ///< none without a bound
  std::vector<SlotId> slot_;                ///< by block: where it is, or kNoSlot
  std::vector<SlotId> free_;                ///< that blocks moved up from
  std::vector<SlotId> run_;                 ///< slots of one call to the policy
  ReplayTierCounts counts_;
};

/// A stack of tiers under requests as they come. Ids of blocks must be dense by first appearance.
class TieredReplay {
 public:
  /// One tier or more, nearest first. Throws InputError (exit 2) when a policy's parameters do not
  /// fit its tier. Precondition: of exclusive tiers only the nearest has a policy that needs the
  /// future, since no other sees every reference.
  TieredReplay(std::span<const ReplayTierSetup> tiers, const TieredReplaySetup& setup);

  void run(const RequestBatch& batch);
  const std::vector<ReplayTier>& tiers() const { return tiers_; }
  /// Sums over the tiers.
  ReplayCounts counts() const;

 private:
  using Chain = std::span<const TraceBlockId>;
  using Depth = std::uint8_t;  ///< index of a tier
  static constexpr Depth kNowhere = 0xff;

  void run_request(Chain chain, const Access& access);
  Depth depth_of(TraceBlockId block) const;
  void insert_inclusive(Chain walk, const Access& access);
  void insert_exclusive(Chain walk, const Access& access);
  void place(TraceBlockId block, Depth home, const Access& access);
  std::size_t touch_run(Depth depth, Chain walk, std::size_t at, const Access& access);
  void count(Chain chain);

  TieredReplaySetup setup_;
  std::vector<ReplayTier> tiers_;
  std::uint32_t blocks_ = 0;
  std::uint64_t references_ = 0;
  std::vector<Depth> found_;            ///< by place in the chain: the nearest tier that had it
  std::vector<TraceBlockId> reversed_;  ///< the chain in touch order
  std::vector<BlockId> chain_;          ///< of one look-up
};

}  // namespace spillway
