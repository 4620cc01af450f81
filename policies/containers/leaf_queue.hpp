// Evictable slots by level, then by age, where only a leaf may leave: a slot whose block has no
// resident child, resident being whatever was added and has not left, pinned or not.
//
// Each level is a list in order of age. A slot that reaches the front with a child resident is put
// aside, into a heap, and keeps its level and age there; so is its order when its last child
// leaves. Where no evictable slot is a leaf, because the children are pinned, the same order rules
// among those that are none.
//
// Memory: 28 bytes a slot, 16 more where it was put aside, 12 a block.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/containers/index_heap.hpp"
#include "policies/containers/index_lists.hpp"
#include "sim/error.hpp"
#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

class LeafQueue {
 public:
  /// Level 0 leaves first.
  LeafQueue(std::uint32_t levels, std::uint32_t slots, std::uint32_t blocks)
      : order_(levels, slots), aside_(slots), slots_(slots) {
    blocks_.grow(blocks, {});
    KV_ASSERT(levels < 128, "{} levels in seven bits", levels);
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) {
    order_.grow(slots);
    aside_.grow(slots);
    slots_.resize(slots);
    blocks_.grow(blocks, {});
  }

  /// Who is whose parent. The first chain to name a block decides, unless it is resident by then.
  void learn(BlockSpan chain) {
    for (std::size_t i = 1; i < chain.size(); ++i) {
      Block& block = blocks_[raw(chain[i])];
      if (block.parent != kNoBlock || block.slot != kNoSlot || chain[i] == chain[i - 1]) continue;
      block.parent = chain[i - 1];
    }
  }

  /// `slot`, which holds `block`, is evictable and the newest of its level. Precondition: it was
  /// not evictable.
  void push(SlotId slot, BlockId block, std::uint32_t level) {
    if (slots_[raw(slot)].block != block) {
      lose(slot);
      hold(slot, block);
    }
    enqueue(slot, level);
  }
  /// Precondition: `slot` is evictable.
  void renew(SlotId slot, std::uint32_t level) {
    withdraw(slot);
    enqueue(slot, level);
  }
  /// `slot` is not evictable any more, its block is still resident. Precondition: it was evictable.
  void withdraw(SlotId slot) {
    if (order_.contains(raw(slot))) {
      order_.erase(raw(slot));
    } else {
      aside_.erase(raw(slot));
    }
  }
  /// The block of `slot` is gone. Precondition: it is not evictable.
  void forget(SlotId slot) { lose(slot); }

  /// Precondition: a slot is evictable.
  SlotId pop() {
    std::uint32_t victim = kNone;
    for (std::uint32_t level = 0; level < order_.lists() && victim == kNone; ++level) {
      victim = oldest_leaf(level);
    }
    if (victim == kNone || (!aside_.empty() && aside_.front_key() < key_of(victim))) {
      victim = aside_.front();
    }
    withdraw(SlotId{victim});
    lose(SlotId{victim});
    return SlotId{victim};
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint64_t kNoLeaf = std::uint64_t{1} << 63;
  struct Slot {
    std::uint64_t rank = 0;       ///< its level in the highest byte, then its age
    BlockId block = kNoBlock;     ///< what is resident in it
    SlotId other_copy = kNoSlot;  ///< the next slot with the same block
  };
  struct Block {
    BlockId parent = kNoBlock;
    SlotId slot = kNoSlot;       ///< one that holds it
    std::uint32_t children = 0;  ///< slots that hold a child
  };

  bool is_leaf(std::uint32_t slot) const {
    const BlockId block = slots_[slot].block;
    return block == kNoBlock || blocks_[raw(block)].children == 0;
  }
  std::uint64_t key_of(std::uint32_t slot) const {
    return slots_[slot].rank | (is_leaf(slot) ? 0 : kNoLeaf);
  }

  void enqueue(SlotId slot, std::uint32_t level) {
    slots_[raw(slot)].rank = (std::uint64_t{level} << 56) | clock_++;
    order_.push_back(level, raw(slot));
  }

  /// What blocks its way is put aside: once for every time it was added or used.
  std::uint32_t oldest_leaf(std::uint32_t level) {
    while (!order_.empty(level)) {
      const std::uint32_t slot = order_.front(level);
      if (is_leaf(slot)) return slot;
      order_.erase(slot);
      aside_.push(slot, key_of(slot));
    }
    return kNone;
  }

  void hold(SlotId slot, BlockId block) {
    slots_[raw(slot)].block = block;
    if (block == kNoBlock) return;
    Block& held = blocks_[raw(block)];
    slots_[raw(slot)].other_copy = held.slot;
    held.slot = slot;
    if (held.parent != kNoBlock && blocks_[raw(held.parent)].children++ == 0) {
      sort_aside(held.parent);
    }
  }
  void lose(SlotId slot) {
    Slot& left = slots_[raw(slot)];
    if (left.block == kNoBlock) return;
    Block& lost = blocks_[raw(left.block)];
    SlotId* link = &lost.slot;
    while (*link != slot) link = &slots_[raw(*link)].other_copy;
    *link = left.other_copy;
    left.block = kNoBlock;
    left.other_copy = kNoSlot;
    if (lost.parent != kNoBlock && --blocks_[raw(lost.parent)].children == 0) {
      sort_aside(lost.parent);
    }
  }
  /// `block` has become a leaf or is one no longer.
  void sort_aside(BlockId block) {
    for (SlotId slot = blocks_[raw(block)].slot; slot != kNoSlot;
         slot = slots_[raw(slot)].other_copy) {
      if (!aside_.contains(raw(slot))) continue;
      aside_.erase(raw(slot));
      aside_.push(raw(slot), key_of(raw(slot)));
    }
  }

  IndexLists order_;  ///< by level
  IndexHeap aside_;
  std::vector<Slot> slots_;
  GrowingColumn<Block> blocks_;
  std::uint64_t clock_ = 0;
};

}  // namespace spillway
