// One tier of KVBM: slots of a block each, and which registered blocks they hold
// (lib/llm/src/block_manager/pool/managed/{state,inactive,priority_key}.rs).
//
// A slot is empty; held, by a copy that has not ended; resting, with a registered block that nobody
// reads; or pinned, by those who read it. An allocation takes empty slots first, then the one that
// rests longest, whose block is gone. Blocks rest in the order of their return. Pools of v2 may
// prefer blocks of few uses, or those that no resting block depends on.
//
// Model: all priorities are 0, so that the time of return alone decides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/engine/connectors/kvbm/leaf_order.hpp"
#include "models/engine/connectors/kvbm/use_counts.hpp"
#include "models/releases/chunk_connectors.hpp"
#include "sim/error.hpp"
#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

class SlotPool {
 public:
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};

  explicit SlotPool(std::uint64_t slots) : capacity_(slots) {}
  /// `uses` and `parents` of all blocks that come here; they outlive it.
  SlotPool(std::uint64_t slots, const KvbmConfig& config, const UseCounts& uses,
           const Parents& parents)
      : capacity_(slots), levels_(config.levels) {
    if (config.inactive == InactivePool::kMultiLru) uses_ = &uses;
    if (config.inactive == InactivePool::kLineage) leaves_.emplace(parents);
  }

  /// Where the registered block is; kNoSlot: nowhere.
  SlotId find(BlockId block) const {
    return raw(block) < slot_of_.size() ? SlotId{slot_of_[raw(block)] - 1} : kNoSlot;
  }
  bool has(BlockId block) const { return find(block) != kNoSlot; }
  bool pinned(SlotId slot) const { return at(slot).pins > 0; }
  /// So many slots could be taken now.
  bool can_take(std::uint64_t slots) const {
    return capacity_ == kUnbounded || capacity_ - held_ - pinned_ >= slots;
  }

  /// A slot to write to. Precondition: can_take(1).
  SlotId take();
  /// The slot that was written holds `block` from now on, as the youngest. Where the block is here
  /// already the new slot is emptied, and the old one becomes youngest unless it is pinned.
  /// False: it is pinned.
  bool register_block(SlotId slot, BlockId block);
  void pin(SlotId slot);
  /// The last reader's return makes it the youngest.
  void unpin(SlotId slot);
  /// As if it had been read and returned now.
  void touch(SlotId slot) {
    if (!pinned(slot)) to_youngest(raw(slot));
  }

  std::uint64_t stored() const { return stored_; }    ///< blocks that entered
  std::uint64_t evicted() const { return evicted_; }  ///< and those that left for others
  std::uint32_t resident() const { return resting_ + pinned_; }
  std::uint32_t peak() const { return peak_; }
  /// Changes with what look-ups find.
  std::uint64_t version() const { return stored_ + evicted_; }

  /// Every slot is in one state, and no copy and no reader is left.
  void check_drained() const;

 private:
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};
  struct Slot {
    BlockId block = kNoBlock;
    std::uint32_t pins = 0;
    std::uint32_t level = 0;    ///< of its rest
    std::uint32_t next = kEnd;  ///< resting ones only: towards the youngest
    std::uint32_t previous = kEnd;
  };
  const Slot& at(SlotId slot) const { return slots_[raw(slot)]; }
  /// Resting blocks, by the time of their return.
  struct Line {
    std::uint32_t oldest = kEnd;
    std::uint32_t youngest = kEnd;
  };
  std::uint32_t next_victim();
  void append(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void to_youngest(std::uint32_t slot) {
    unlink(slot);
    append(slot);
  }

  std::uint64_t capacity_;
  std::vector<Slot> slots_;                ///< made as they are first taken
  std::vector<std::uint32_t> empty_;       ///< of these, those that hold nothing
  GrowingColumn<std::uint32_t> slot_of_;   ///< by block, 1 + slot; 0: not here
  std::array<std::uint32_t, 3> levels_{};  ///< least uses of each level above the lowest
  const UseCounts* uses_ = nullptr;        ///< none: all rest in the lowest level
  std::optional<LeafOrder> leaves_;        ///< none: the lowest level's oldest leaves
  std::array<Line, 4> lines_;              ///< by level
  std::uint32_t held_ = 0;
  std::uint32_t pinned_ = 0;
  std::uint32_t resting_ = 0;
  std::uint32_t peak_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace spillway
