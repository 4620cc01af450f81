#include "models/engine/stores/kv_pool.hpp"

#include <algorithm>

namespace spillway {

namespace {
constexpr std::uint32_t kFirstPoolSlots = 1 << 14;  // then doubled: few runs touch all of a pool
}  // namespace

KvPool::KvPool(std::uint32_t slots, const EvictionChoice& eviction, EvictionContext context,
               bool unhashed_front, std::uint32_t most_blocks)
    : residency_(std::max(most_blocks, context.blocks)),
      unhashed_front_(unhashed_front),
      usable_(slots - 1),
      free_(slots - 1),
      blocks_(context.blocks) {
  slots_.grow(std::min(slots, kFirstPoolSlots), {});
  const auto made = static_cast<std::uint32_t>(slots_.size());
  contents_.resize(made);
  context.slots = made;
  context.capacity = usable_;
  context.contents = &contents_;
  policy_ = eviction.make(context);
  // Of few pools longer: a request's blocks, or those that have no name.
  unhashed_.reserve(made);
  scratch_.reserve(made);
  watched_.reserve(made);
}

void KvPool::grow() {
  const std::uint64_t slots =
      std::min(2 * std::uint64_t{slots_.size()}, std::uint64_t{usable_} + 1);
  slots_.grow(slots, {});
  contents_.resize(static_cast<std::uint32_t>(slots));
  policy_->grow(static_cast<std::uint32_t>(slots), blocks_);
}

void KvPool::grow_blocks(std::uint32_t blocks) {
  blocks_ = blocks;
  policy_->grow(static_cast<std::uint32_t>(slots_.size()), blocks);
}

SlotId KvPool::take(const Access& access) {
  KV_ASSERT(free_ > 0, "no free block to hand out");
  --free_;
  std::uint32_t slot = 0;
  if (!unhashed_.empty()) {
    slot = raw(unhashed_.back());
    unhashed_.pop_back();
  } else if (never_used_ <= usable_) {
    if (never_used_ == slots_.size()) grow();
    slot = never_used_++;
  } else {
    slot = raw(policy_->pop_victim(access));
  }
  Slot& taken = slots_[slot];
  KV_ASSERT(taken.references == 0, "slot {} handed out while in use", slot);
  if (contents_[SlotId{slot}] != kNoBlock) evict(slot);
  taken.references = 1;
  give(taken);
  return SlotId{slot};
}

void KvPool::evict(std::uint32_t slot) {
  Slot& leaving = slots_[slot];
  const BlockId block = contents_[SlotId{slot}];
  std::uint32_t* link = &residency_[block].word;
  while (*link != slot) {
    KV_ASSERT(*link != 0, "slot {} is not registered for its block {}", slot, raw(block));
    link = &slots_[*link].next_copy;
  }
  *link = leaving.next_copy;
  contents_[SlotId{slot}] = kNoBlock;
  leaving.next_copy = 0;
  watched_changed_ = watched_changed_ || leaving.watched;
  --cached_;
  ++evictions_;
  if (watch_ != nullptr) [[unlikely]]
    tell_dropped(block);
}

void KvPool::share(SlotSpan slots) {
  scratch_.clear();
  for (const SlotId slot : slots) {
    Slot& shared = slots_[raw(slot)];
    if (shared.references++ == 0) {
      scratch_.push_back(slot);
      watched_changed_ = watched_changed_ || shared.watched;
    }
    give(shared);
  }
  free_ -= static_cast<std::uint32_t>(scratch_.size());
  if (!scratch_.empty()) policy_->remove(scratch_, RemoveCause::kPinned);
}

/// Another copy of a block is nothing new.
void KvPool::tell_stored(SlotId slot, BlockId id) {
  if (residency_[id].slot() == slot) watch_->on_stored(id);
}

void KvPool::tell_dropped(BlockId id) {
  if (!residency_[id].here()) watch_->on_dropped(id);
}

void KvPool::release(SlotSpan slots, const Access& access) {
  scratch_.clear();
  std::size_t front = unhashed_.size();
  for (std::size_t i = slots.size(); i-- > 0;) {
    Slot& released = slots_[raw(slots[i])];
    KV_ASSERT(released.references > 0, "slot {} released more often than taken", raw(slots[i]));
    if (--released.references > 0) continue;
    ++free_;
    watched_changed_ = watched_changed_ || released.watched;
    if (contents_[slots[i]] == kNoBlock && unhashed_front_) {
      // One list, tail-most first: the tail-most must end on top of the stack.
      unhashed_.insert(unhashed_.begin() + static_cast<std::ptrdiff_t>(front), slots[i]);
    } else {
      scratch_.push_back(slots[i]);
    }
  }
  if (!scratch_.empty()) policy_->add(scratch_, access);
}

void KvPool::unguard(SlotId slot) {
  KV_ASSERT(slots_[raw(slot)].guards > 0, "slot {} is not guarded", raw(slot));
  --slots_[raw(slot)].guards;
}

void KvPool::note_given(SlotSpan slots) {
  for (const SlotId slot : slots) give(slots_[raw(slot)]);
}

void KvPool::forget_given(SlotSpan slots) {
  for (const SlotId slot : slots) slots_[raw(slot)].given = step_ - 1;
}

void KvPool::watch(SlotSpan hits, BlockId missed) {
  for (const SlotId slot : watched_) slots_[raw(slot)].watched = false;
  watched_.assign(hits.begin(), hits.end());
  for (const SlotId slot : watched_) slots_[raw(slot)].watched = true;
  watched_miss_ = missed;
  watched_changed_ = false;
}

void KvPool::check_drained() const {
  KV_ASSERT(free_ == usable_, "{} blocks still in use after the last request", usable_ - free_);
  for (const Slot& slot : slots_) {
    KV_ASSERT(slot.references == 0 && slot.guards == 0, "a block kept users or guards");
  }
}

}  // namespace spillway
