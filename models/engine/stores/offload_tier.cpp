#include "models/engine/stores/offload_tier.hpp"

#include <algorithm>

namespace spillway {

OffloadTier::OffloadTier(std::uint64_t capacity, std::uint32_t distinct_blocks,
                         ResidencyTable& residency, const EvictionChoice& eviction,
                         EvictionContext context)
    : residency_(residency),
      capacity_(std::min<std::uint64_t>(capacity, distinct_blocks)),
      pins_(capacity_ + 1) {
  context.slots = static_cast<std::uint32_t>(pins_.size());
  context.capacity = capacity;
  context.contents = &contents_;
  contents_.resize(context.slots);
  policy_ = eviction.make(context);
  orders_all_ = policy_->orders_all();
}

bool OffloadTier::make_room(BlockSpan fresh, SlotSpan offered, const Access& access) {
  if (fresh.size() <= room()) return true;
  ++version_;
  const auto victims = static_cast<std::uint32_t>(fresh.size()) - room();
  scratch_.clear();
  for (const SlotId slot : offered) {
    if (pins_[raw(slot)] == 0) scratch_.push_back(slot);
  }
  if (victims > evictable_ - scratch_.size()) return false;
  if (!scratch_.empty()) policy_->remove(scratch_, RemoveCause::kPinned);
  victims_.resize(victims);
  if (!policy_->try_pop_victims(victims_, fresh.last(victims), access)) {
    if (!scratch_.empty()) policy_->add(scratch_, access);
    return false;
  }
  for (const SlotId victim : victims_) {
    KV_ASSERT(pins_[raw(victim)] == 0, "evicted a pinned block");
    residency_[contents_[victim]].below_state = 0;
    contents_[victim] = kNoBlock;
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
  contents_[SlotId{index}] = block;
  pins_[index] = kWriting;
  residency_.place(block).below_state = index | BlockResidency::kBusy;
  if (orders_all_) policy_->insert(SlotId{index});
  ++used_;
  ++stored_;
  return SlotId{index};
}

void OffloadTier::end_write(SlotSpan slots, const Access& access) {
  ++version_;
  for (const SlotId slot : slots) {
    KV_ASSERT(pins_[raw(slot)] == kWriting, "a write ended twice");
    pins_[raw(slot)] = 0;
    set_busy(slot, false);
  }
  evictable_ += static_cast<std::uint32_t>(slots.size());
  policy_->add(slots, access);
}

void OffloadTier::begin_read(SlotSpan slots) {
  ++version_;
  scratch_.clear();
  for (const SlotId slot : slots) {
    std::int32_t& pins = pins_[raw(slot)];
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
    std::int32_t& pins = pins_[raw(slot)];
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

void OffloadTier::touch_all(BlockSpan blocks, SlotSpan slots) {
  ++version_;
  if (policy_->touch_all(blocks, slots)) restless_ = true;
}

void OffloadTier::check_drained() const {
  KV_ASSERT(used_ == evictable_, "{} blocks still pinned after the last request",
            used_ - evictable_);
  KV_ASSERT(stored_ - evictions_ == used_,
            "blocks in ({}) less blocks out ({}) are not those held ({})", stored_, evictions_,
            used_);
}

}  // namespace spillway
