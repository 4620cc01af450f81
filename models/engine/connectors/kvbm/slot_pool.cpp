#include "models/engine/connectors/kvbm/slot_pool.hpp"

namespace spillway {

SlotId SlotPool::take() {
  KV_ASSERT(can_take(1), "all {} slots are in use", capacity_);
  ++held_;
  if (!empty_.empty()) {
    const SlotId slot{empty_.back()};
    empty_.pop_back();
    return slot;
  }
  if (slots_.size() < capacity_) {
    slots_.emplace_back();
    return SlotId{static_cast<std::uint32_t>(slots_.size() - 1)};
  }
  const std::uint32_t slot = next_victim();
  unlink(slot);
  --resting_;
  ++evicted_;
  slot_of_[raw(slots_[slot].block)] = 0;
  slots_[slot].block = kNoBlock;
  return SlotId{slot};
}

bool SlotPool::register_block(SlotId slot, BlockId block) {
  --held_;
  if (const SlotId old = find(block); old != kNoSlot) {
    empty_.push_back(raw(slot));
    if (pinned(old)) return false;
    to_youngest(raw(old));
    return true;
  }
  slot_of_.grow(std::size_t{raw(block)} + 1, 0);
  slot_of_[raw(block)] = raw(slot) + 1;
  slots_[raw(slot)].block = block;
  ++resting_;
  ++stored_;
  peak_ = std::max(peak_, resident());
  append(raw(slot));
  return true;
}

void SlotPool::pin(SlotId slot) {
  Slot& s = slots_[raw(slot)];
  KV_ASSERT(s.block != kNoBlock, "a reader of a slot without a block");
  if (s.pins++ > 0) return;
  unlink(raw(slot));
  --resting_;
  ++pinned_;
}

void SlotPool::unpin(SlotId slot) {
  Slot& s = slots_[raw(slot)];
  KV_ASSERT(s.pins > 0, "a slot has more returns than readers");
  if (--s.pins > 0) return;
  --pinned_;
  ++resting_;
  append(raw(slot));
}

std::uint32_t SlotPool::next_victim() {
  if (leaves_) return raw(find(leaves_->oldest_leaf()));
  std::size_t level = 0;
  while (lines_[level].oldest == kEnd) ++level;
  return lines_[level].oldest;
}

void SlotPool::append(std::uint32_t slot) {
  Slot& s = slots_[slot];
  s.level = 0;
  if (uses_ != nullptr) {
    const std::uint32_t uses = uses_->count(s.block);
    while (s.level < levels_.size() && uses >= levels_[s.level]) ++s.level;
  }
  Line& line = lines_[s.level];
  s.next = kEnd;
  s.previous = line.youngest;
  (line.youngest == kEnd ? line.oldest : slots_[line.youngest].next) = slot;
  line.youngest = slot;
  if (leaves_) leaves_->rest(s.block);
}

void SlotPool::unlink(std::uint32_t slot) {
  const Slot& s = slots_[slot];
  Line& line = lines_[s.level];
  (s.previous == kEnd ? line.oldest : slots_[s.previous].next) = s.next;
  (s.next == kEnd ? line.youngest : slots_[s.next].previous) = s.previous;
  if (leaves_) leaves_->leave(s.block);
}

void SlotPool::check_drained() const {
  KV_ASSERT(held_ == 0 && pinned_ == 0, "{} slots held and {} pinned at the end", held_, pinned_);
  KV_ASSERT(empty_.size() + resting_ == slots_.size(), "{} empty and {} resting slots of {}",
            empty_.size(), resting_, slots_.size());
  KV_ASSERT(stored_ - evicted_ == resting_, "{} blocks entered, {} left, {} are here", stored_,
            evicted_, resting_);
  std::size_t listed = 0;
  for (const Line& line : lines_) {
    for (std::uint32_t slot = line.oldest; slot != kEnd; slot = slots_[slot].next) {
      KV_ASSERT(find(slots_[slot].block) == SlotId{slot}, "a block that is not where it rests");
      ++listed;
    }
  }
  KV_ASSERT(listed == resting_, "{} of {} resting slots in their order", listed, resting_);
}

}  // namespace spillway
