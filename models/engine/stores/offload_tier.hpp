// The tier below HBM as the OffloadingConnector keeps it: residency, pins and eviction
// (vllm/v1/kv_offload/cpu/manager.py, cpu/policies/). A block here is what one slot holds: a
// chunk of HBM blocks, named by the last of them.
//
// A slot is being written (not readable, not evictable), ready and idle (evictable), or ready and
// read by one or more loads (pinned).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/stores/residency.hpp"
#include "policies/catalogue.hpp"
#include "sim/error.hpp"
#include "sim/ids.hpp"

namespace spillway {

enum class LookupState : std::uint8_t { kMiss, kPending, kReady, kReading };

class OffloadTier {
 public:
  /// `capacity` in blocks; slots beyond `distinct_blocks` are never needed. `context` is what the
  /// policy may know beside the tier. Throws InputError when it does not fit.
  OffloadTier(std::uint64_t capacity, std::uint32_t distinct_blocks, ResidencyTable& residency,
              const EvictionChoice& eviction, EvictionContext context);

  std::uint32_t used() const { return used_; }
  std::uint32_t evictable() const { return evictable_; }
  std::uint64_t stored() const { return stored_; }
  std::uint64_t evictions() const { return evictions_; }

  LookupState state(const BlockResidency& block) const {
    if (block.below_state == 0) return LookupState::kMiss;
    if (block.idle_below()) return LookupState::kReady;
    return pins_[block.below()] < 0 ? LookupState::kPending : LookupState::kReading;
  }

  BlockId block_in(SlotId slot) const { return contents_[slot]; }
  EvictionPolicy& policy() { return *policy_; }

  BlockId content(SlotId slot) const { return contents_[slot]; }
  /// Reads under way; -1: being written.
  std::int32_t pins(SlotId slot) const { return pins_[raw(slot)]; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(pins_.size()); }
  std::uint32_t room() const { return static_cast<std::uint32_t>(capacity_ - used_); }

  /// Makes room for the blocks `fresh` without evicting any of `offered` (slots of this tier that
  /// the same batch offers again). All or nothing: false leaves everything as it was.
  bool make_room(BlockSpan fresh, SlotSpan offered, const Access& access);
  /// A slot for `block`, whose write starts now. Precondition: room was made.
  SlotId begin_write(BlockId block);
  /// The writes ended: readable, evictable, the first of `slots` the oldest.
  void end_write(SlotSpan slots, const Access& access);
  /// Pins `slots`, all of them ready, for a load.
  void begin_read(SlotSpan slots);
  void end_read(SlotSpan slots, const Access& access);
  /// A request looked for these slots, all of them idle: they count as used, the first the oldest.
  void touch(SlotSpan idle, const Access& access);
  /// True where the policy wants the next instead, of every block that a request looked for:
  /// slots[i] is where blocks[i] is, whatever happens to it there, or kNoSlot.
  bool orders_all() const { return orders_all_; }
  void touch_all(BlockSpan blocks, SlotSpan slots);

  /// Changes with every change of content, pins or eviction order: between two equal versions a
  /// repeated look-up finds the same, and a repeated touch changes nothing.
  std::uint64_t version() const { return version_; }
  /// A step's look-ups are over: those of the next find a new version where repeating them would
  /// change something, here or (`counted`) with whoever counts them.
  void end_lookups(bool counted) {
    if (restless_ || counted) ++version_;
    restless_ = false;
  }

  void check_drained() const;

 private:
  static constexpr std::int32_t kWriting = -1;
  void set_busy(SlotId slot, bool busy) {
    const std::uint32_t mark = busy ? BlockResidency::kBusy : 0;
    residency_[contents_[slot]].below_state = raw(slot) | mark;
  }

  ResidencyTable& residency_;
  SlotContents contents_;
  std::unique_ptr<EvictionPolicy> policy_;
  std::uint64_t capacity_;
  std::uint32_t used_ = 0;
  std::uint32_t evictable_ = 0;
  std::uint32_t never_used_ = 1;
  std::uint64_t stored_ = 0;
  std::uint64_t evictions_ = 0;
  std::vector<std::int32_t> pins_;  ///< by slot
  std::vector<std::uint32_t> free_;
  std::uint64_t version_ = 0;
  bool orders_all_ = false;
  bool restless_ = false;  ///< some touch would change something again if repeated
  std::vector<SlotId> scratch_;
  std::vector<SlotId> victims_;
};

}  // namespace spillway
