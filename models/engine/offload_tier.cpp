#include "models/engine/offload_tier.hpp"

#include <algorithm>

namespace spillway {

std::uint32_t OffloadTier::slots_for(std::uint64_t capacity, std::uint32_t distinct_blocks) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(capacity, distinct_blocks)) + 1;
}

OffloadTier::OffloadTier(std::uint64_t capacity, std::uint32_t distinct_blocks,
                         ResidencyTable& residency, std::unique_ptr<EvictionPolicy> policy)
    : residency_(residency),
      policy_(std::move(policy)),
      capacity_(std::min<std::uint64_t>(capacity, distinct_blocks)),
      slots_(slots_for(capacity, distinct_blocks)) {}

bool OffloadTier::make_room(std::uint32_t fresh, SlotSpan offered, const Access& access) {
  if (fresh <= room()) return true;
  ++version_;
  const std::uint32_t victims = fresh - room();
  scratch_.clear();
  for (const SlotId slot : offered) {
    if (slots_[raw(slot)].pins == 0) scratch_.push_back(slot);
  }
  if (victims > evictable_ - scratch_.size()) return false;
  if (!scratch_.empty()) policy_->remove(scratch_, RemoveCause::kPinned);
  victims_.resize(victims);
  policy_->pop_victims(victims_, access.now);
  for (const SlotId victim : victims_) {
    const Slot& slot = slots_[raw(victim)];
    KV_ASSERT(slot.pins == 0, "evicted a pinned block");
    residency_[BlockId{slot.block}].below_state = 0;
    free_.push_back(raw(victim));
  }
  used_ -= victims;
  evictable_ -= victims;
  evictions_ += victims;
  if (!scratch_.empty()) policy_->add(scratch_, access);
  return true;
}

SlotId OffloadTier::begin_write(BlockId block) {
  ++version_;
  KV_ASSERT(used_ < capacity_, "a tier beyond its capacity of {} blocks", capacity_);
  std::uint32_t index = never_used_;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    ++never_used_;
  }
  slots_[index] = {raw(block), kWriting};
  set_busy(SlotId{index}, true);
  ++used_;
  ++stored_;
  return SlotId{index};
}

void OffloadTier::end_write(SlotSpan slots, const Access& access) {
  ++version_;
  for (const SlotId slot : slots) {
    KV_ASSERT(slots_[raw(slot)].pins == kWriting, "a write ended twice");
    slots_[raw(slot)].pins = 0;
    set_busy(slot, false);
  }
  evictable_ += static_cast<std::uint32_t>(slots.size());
  policy_->add(slots, access);
}

void OffloadTier::begin_read(SlotSpan slots) {
  ++version_;
  scratch_.clear();
  for (const SlotId slot : slots) {
    std::int32_t& pins = slots_[raw(slot)].pins;
    KV_ASSERT(pins >= 0, "a load from a block that is being written");
    if (pins++ > 0) continue;
    set_busy(slot, true);
    scratch_.push_back(slot);
  }
  evictable_ -= static_cast<std::uint32_t>(scratch_.size());
  if (!scratch_.empty()) policy_->remove(scratch_, RemoveCause::kPinned);
}

void OffloadTier::end_read(SlotSpan slots, const Access& access) {
  ++version_;
  scratch_.clear();
  for (const SlotId slot : slots) {
    std::int32_t& pins = slots_[raw(slot)].pins;
    KV_ASSERT(pins > 0, "a load ended twice");
    if (--pins > 0) continue;
    set_busy(slot, false);
    scratch_.push_back(slot);
  }
  evictable_ += static_cast<std::uint32_t>(scratch_.size());
  if (!scratch_.empty()) policy_->add(scratch_, access);
}

void OffloadTier::touch(SlotSpan idle, const Access& access) {
  ++version_;
  if (!idle.empty()) policy_->touch(idle, access);
}

void OffloadTier::check_drained() const {
  KV_ASSERT(used_ == evictable_, "{} blocks still pinned after the last request",
            used_ - evictable_);
  KV_ASSERT(stored_ - evictions_ == used_,
            "blocks in ({}) less blocks out ({}) are not those held ({})", stored_, evictions_,
            used_);
}

}  // namespace spillway
