// Where each block of running requests is when they may run with any part of their chains below
// HBM.
//
// HBM is a demand-filled cache. A block is in HBM, below, or both. While a block is being filled it
// is pinned in HBM; once full it is evictable at any time, whoever reads it. Reading a block in HBM
// is a touch; reading one that is only below brings it up, into a free slot or that of a victim the
// HBM policy names. A victim with a copy below leaves for free; any other is written down. A copy
// below of a block that is also in HBM gives way when the tier below needs room, the one brought up
// last first (under LRU it leaves HBM last); then cached blocks leave, as the lower policy says.
// So capacity counts exclusively: distinct blocks up to HBM's slots plus the tier's.
//
// Running requests claim the blocks of their whole sequences, present or not. A claimed block's
// last copy never goes. One that nobody claims stays as a cache, and leaves for good when HBM drops
// it and the tier below holds nothing but claimed blocks.
//
// Nameless slots hold what cannot be shared: a sequence's last, never full block, and the blocks of
// sequences that a token budget cut (lossy, so they are neither found again nor stored below). They
// never leave HBM.
//
// Model: a block read and the victim that takes its place below change places through the staging
// buffers, without a slot of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/chains/block_columns.hpp"
#include "models/requests/engine_stats.hpp"
#include "policies/catalogue.hpp"
#include "policies/containers/index_list.hpp"
#include "sim/error.hpp"
#include "sim/ids.hpp"

namespace spillway {

class StreamingStore final : public BlockColumns {
 public:
  /// `slots` includes slot 0, which is never used; no more than `distinct_blocks` are ever below.
  /// `context` is what policies may know beside the store. Throws InputError when a policy does not
  /// fit.
  StreamingStore(std::uint32_t slots, std::uint64_t lower_blocks, std::uint32_t distinct_blocks,
                 const EvictionChoice& eviction, const EvictionChoice& lower_eviction,
                 EvictionContext context);

  std::uint32_t usable() const { return usable_; }
  /// Blocks that all tiers hold together.
  std::uint64_t capacity() const { return usable_ + lower_capacity_; }
  EvictionPolicy& policy() { return *policy_; }
  EvictionPolicy& lower_policy() { return *lower_policy_; }

  // Ids below are runs [first, first + count).

  /// Blocks of the run that nobody claims.
  std::uint32_t unclaimed(std::uint32_t first, std::uint32_t count) const;
  void claim(std::uint32_t first, std::uint32_t count);
  /// The run's last block first; a block that is not full yet is given up with its last claim.
  void unclaim(std::uint32_t first, std::uint32_t count, const Access& access);
  /// Distinct claimed blocks, present or not, and nameless slots.
  std::uint64_t claimed() const { return claimed_ + nameless_; }

  /// Whether the block is full and in some tier, so that a look-up finds it.
  bool found(BlockId id) const { return places_[raw(id)].present() && !places_[raw(id)].filling(); }
  bool in_hbm(BlockId id) const { return places_[raw(id)].hbm != 0; }
  bool below(BlockId id) const { return places_[raw(id)].below != 0; }

  /// Slots that are pinned: blocks being filled, and nameless ones.
  std::uint32_t pinned() const { return filling_ + nameless_; }
  /// The block is about to be filled: it gets a slot unless it is there already. Preconditions:
  /// claimed; fewer than usable() slots are pinned.
  void begin_fill(BlockId id, const Access& access);
  SlotId take_nameless(const Access& access);
  void give_nameless(SlotSpan slots);
  /// The blocks are full, evictable, the first of them the oldest; those marked in `excess` go
  /// below at once where there is room.
  void end_fill(BlockSpan full, BlockRange excess, const Access& access);

  /// Reads the run, first to last, and returns how many were below only. `bring_up`: these move
  /// into HBM. Precondition: all were found.
  std::uint32_t read(std::uint32_t first, std::uint32_t count, bool bring_up, const Access& access);

  /// Blocks that have moved below since the last call.
  std::uint64_t take_moved_down();

  TierLevel hbm_level() const;
  TierLevel lower_level() const;
  /// Claimed blocks that some tier has been given, nameless ones included, and where they are.
  struct Needed {
    std::uint64_t blocks = 0;
    std::uint64_t in_hbm = 0;
    std::uint64_t below_only = 0;
  };
  Needed needed() const { return {needed_ + nameless_, hbm_used_ + nameless_, below_only_}; }

  void grow_blocks(std::uint32_t blocks) override;

  void check_drained() const;

 private:
  /// Slot 0 is among them.
  std::uint32_t lower_slots_for(std::uint32_t blocks) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(lower_capacity_, blocks)) + 1;
  }
  static constexpr std::uint32_t kFilling = std::uint32_t{1} << 31;
  struct Place {
    std::uint32_t hbm = 0;    ///< slot, with kFilling while it is not full; 0: not there
    std::uint32_t below = 0;  ///< slot; 0: not there
    std::uint32_t claims = 0;
    bool present() const { return (hbm | below) != 0; }
    bool filling() const { return (hbm & kFilling) != 0; }
  };

  std::uint64_t room_below() const;
  SlotId take_slot(BlockSpan incoming, const Access& access);
  SlotId pop_victim(BlockSpan incoming, const Access& access);
  void vacate(SlotId slot, const Access& access);
  void bring_up(BlockId id, const Access& access);
  void put_below(BlockId id, const Access& access);
  std::uint32_t take_lower_slot(const Access& access);
  void drop_below(std::uint32_t slot);
  void give_up_filling(Place& place);
  void touch_noted(const Access& access);

  SlotContents contents_;
  SlotContents lower_contents_;
  std::uint32_t usable_;
  std::uint64_t lower_capacity_;
  std::unique_ptr<EvictionPolicy> policy_;
  std::unique_ptr<EvictionPolicy> lower_policy_;
  std::vector<Place> places_;  ///< by block

  std::vector<SlotId> free_;
  std::uint32_t never_used_ = 1;
  std::uint32_t evictable_ = 0;  ///< slots that the HBM policy orders
  std::vector<std::uint32_t> lower_free_;
  std::uint32_t lower_never_used_ = 1;
  std::uint32_t lower_evictable_ = 0;  ///< cached, below only
  IndexList copies_;                   ///< lower slots whose blocks are in HBM too, oldest first
  std::uint32_t copies_count_ = 0;

  std::uint64_t claimed_ = 0;
  std::uint64_t needed_ = 0;
  std::uint32_t hbm_used_ = 0;  ///< claimed blocks in HBM
  std::uint64_t below_only_ = 0;
  std::uint32_t filling_ = 0;
  std::uint32_t nameless_ = 0;
  TierLevel hbm_;
  TierLevel lower_;
  std::uint64_t moved_down_ = 0;

  std::vector<SlotId> noted_;   ///< scratch: slots to touch or add
  std::vector<SlotId> spared_;  ///< scratch: victims that may not leave now
};

}  // namespace spillway
