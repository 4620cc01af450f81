#include "models/engine/stores/streaming_store.hpp"

#include <algorithm>
#include <utility>

namespace spillway {

StreamingStore::StreamingStore(std::uint32_t slots, std::uint64_t lower_blocks,
                               std::uint32_t distinct_blocks, const EvictionChoice& eviction,
                               const EvictionChoice& lower_eviction, EvictionContext context)
    : usable_(slots - 1),
      lower_capacity_(std::min<std::uint64_t>(lower_blocks, distinct_blocks)),
      places_(context.blocks),
      copies_(lower_slots_for(context.blocks)) {
  contents_.resize(slots);
  context.slots = slots;
  context.capacity = usable_;
  context.contents = &contents_;
  policy_ = eviction.make(context);
  lower_contents_.resize(lower_slots_for(context.blocks));
  context.slots = lower_contents_.size();
  context.capacity = lower_blocks;
  context.contents = &lower_contents_;
  lower_policy_ = lower_eviction.make(context);
  free_.reserve(slots);
  noted_.reserve(slots);
  spared_.reserve(slots);
  lower_free_.reserve(lower_contents_.size());
}

void StreamingStore::grow_blocks(std::uint32_t blocks) {
  const std::uint32_t lower = lower_slots_for(blocks);
  places_.reserve(blocks);
  places_.resize(blocks);
  copies_.grow(lower);
  lower_contents_.resize(lower);
  lower_free_.reserve(lower);
  policy_->grow(contents_.size(), blocks);
  lower_policy_->grow(lower, blocks);
}

// ---- claims
// --------------------------------------------------------------------------------------

std::uint32_t StreamingStore::unclaimed(std::uint32_t first, std::uint32_t count) const {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += places_[first + i].claims == 0 ? 1 : 0;
  return sum;
}

void StreamingStore::claim(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Place& place = places_[first + i];
    if (place.claims++ > 0) continue;
    ++claimed_;
    if (!place.present()) continue;
    ++needed_;
    if (place.hbm != 0) {
      ++hbm_used_;
      continue;
    }
    ++below_only_;
    const SlotId slot{place.below};
    lower_policy_->remove({&slot, 1}, RemoveCause::kPinned);
    --lower_evictable_;
  }
}

void StreamingStore::unclaim(std::uint32_t first, std::uint32_t count, const Access& access) {
  for (std::uint32_t i = count; i-- > 0;) {
    Place& place = places_[first + i];
    KV_ASSERT(place.claims > 0, "block {} given up more often than claimed", first + i);
    if (--place.claims > 0) continue;
    --claimed_;
    if (!place.present()) continue;
    --needed_;
    if (place.hbm != 0) {
      --hbm_used_;
      if (place.filling()) give_up_filling(place);
      continue;
    }
    --below_only_;
    const SlotId slot{place.below};
    lower_policy_->add({&slot, 1}, access);
    ++lower_evictable_;
  }
}

void StreamingStore::give_up_filling(Place& place) {
  const SlotId slot{place.hbm & ~kFilling};
  contents_[slot] = kNoBlock;
  free_.push_back(slot);
  place.hbm = 0;
  --filling_;
  ++hbm_.evicted;
}

// ---- filling
// -------------------------------------------------------------------------------------

void StreamingStore::begin_fill(BlockId id, const Access& access) {
  if (places_[raw(id)].present()) return;
  KV_ASSERT(places_[raw(id)].claims > 0, "block {} filled without a claim", raw(id));
  const SlotId slot = take_slot({&id, 1}, access);
  contents_[slot] = id;
  places_[raw(id)].hbm = raw(slot) | kFilling;
  ++filling_;
  ++needed_;
  ++hbm_used_;
  ++hbm_.stored;
}

SlotId StreamingStore::take_nameless(const Access& access) {
  const SlotId slot = take_slot({}, access);
  ++nameless_;
  ++hbm_.stored;
  return slot;
}

void StreamingStore::give_nameless(SlotSpan slots) {
  for (std::size_t i = slots.size(); i-- > 0;) free_.push_back(slots[i]);
  nameless_ -= static_cast<std::uint32_t>(slots.size());
  hbm_.evicted += slots.size();
}

void StreamingStore::end_fill(BlockSpan full, BlockRange excess, const Access& access) {
  noted_.clear();
  for (std::size_t i = 0; i < full.size(); ++i) {
    // Two requests may fill one block, and the first to end may have taken it along.
    if (!places_[raw(full[i])].present()) begin_fill(full[i], access);
    Place& place = places_[raw(full[i])];
    if (!place.filling()) continue;
    const SlotId slot{place.hbm & ~kFilling};
    --filling_;
    if (i < excess.from || i >= excess.to || room_below() == 0) {
      place.hbm = raw(slot);
      noted_.push_back(slot);
      continue;
    }
    place.hbm = 0;
    contents_[slot] = kNoBlock;
    free_.push_back(slot);
    ++hbm_.evicted;
    --hbm_used_;
    ++below_only_;
    put_below(full[i], access);
  }
  if (noted_.empty()) return;
  policy_->add(noted_, access);
  evictable_ += static_cast<std::uint32_t>(noted_.size());
}

// ---- reading
// -------------------------------------------------------------------------------------

std::uint32_t StreamingStore::read(std::uint32_t first, std::uint32_t count, bool bring_up_cold,
                                   const Access& access) {
  noted_.clear();
  std::uint32_t cold = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Place& place = places_[first + i];
    if (place.hbm != 0) {
      if (!place.filling()) noted_.push_back(SlotId{place.hbm});
      continue;
    }
    KV_ASSERT(place.below != 0, "block {} is nowhere, and a running request reads it", first + i);
    ++cold;
    if (!bring_up_cold) continue;
    touch_noted(access);
    bring_up(BlockId{first + i}, access);
  }
  touch_noted(access);
  return cold;
}

void StreamingStore::touch_noted(const Access& access) {
  if (noted_.empty()) return;
  policy_->touch(noted_, access);
  noted_.clear();
}

void StreamingStore::bring_up(BlockId id, const Access& access) {
  Place& place = places_[raw(id)];
  copies_.push_back(place.below);
  ++copies_count_;
  const SlotId slot = take_slot({&id, 1}, access);
  contents_[slot] = id;
  place.hbm = raw(slot);
  --below_only_;
  ++hbm_used_;
  ++hbm_.stored;
  policy_->add({&slot, 1}, access);
  ++evictable_;
}

std::uint64_t StreamingStore::take_moved_down() {
  return std::exchange(moved_down_, 0);
}

// ---- leaving HBM
// ---------------------------------------------------------------------------------

std::uint64_t StreamingStore::room_below() const {
  const std::uint64_t unused = lower_capacity_ - (lower_never_used_ - 1) + lower_free_.size();
  return unused + copies_count_ + lower_evictable_;
}

SlotId StreamingStore::take_slot(BlockSpan incoming, const Access& access) {
  if (!free_.empty()) {
    const SlotId slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (never_used_ <= usable_) return SlotId{never_used_++};
  const SlotId victim = pop_victim(incoming, access);
  vacate(victim, access);
  return victim;
}

/// The policy's next victim. With no room below only a block that nobody claims, or that has a copy
/// there, may leave: others that are named before it count as used now.
SlotId StreamingStore::pop_victim(BlockSpan incoming, const Access& access) {
  spared_.clear();
  for (;;) {
    KV_ASSERT(evictable_ > 0, "no HBM block may leave: {} slots, {} of them pinned", usable_,
              pinned());
    SlotId victim{};
    policy_->pop_victims({&victim, 1}, spared_.empty() ? incoming : BlockSpan{}, access);
    --evictable_;
    const Place& place = places_[raw(contents_[victim])];
    if (place.claims > 0 && place.below == 0 && room_below() == 0) {
      spared_.push_back(victim);
      continue;
    }
    if (!spared_.empty()) policy_->add(spared_, access);
    evictable_ += static_cast<std::uint32_t>(spared_.size());
    return victim;
  }
}

void StreamingStore::vacate(SlotId slot, const Access& access) {
  const BlockId id = contents_[slot];
  Place& place = places_[raw(id)];
  contents_[slot] = kNoBlock;
  place.hbm = 0;
  ++hbm_.evicted;
  if (place.claims > 0) {
    --hbm_used_;
    ++below_only_;
  }
  if (place.below == 0) {
    if (place.claims > 0 || room_below() > 0) put_below(id, access);
    return;
  }
  copies_.erase(place.below);
  --copies_count_;
  if (place.claims > 0) return;
  const SlotId below{place.below};
  lower_policy_->add({&below, 1}, access);
  ++lower_evictable_;
}

// ---- the tier below
// ------------------------------------------------------------------------------

void StreamingStore::put_below(BlockId id, const Access& access) {
  const std::uint32_t slot = take_lower_slot(access);
  lower_contents_[SlotId{slot}] = id;
  Place& place = places_[raw(id)];
  place.below = slot;
  ++lower_.stored;
  ++moved_down_;
  if (place.claims > 0) return;
  const SlotId below{slot};
  lower_policy_->add({&below, 1}, access);
  ++lower_evictable_;
}

std::uint32_t StreamingStore::take_lower_slot(const Access& access) {
  if (!lower_free_.empty()) {
    const std::uint32_t slot = lower_free_.back();
    lower_free_.pop_back();
    return slot;
  }
  if (lower_never_used_ <= lower_capacity_) return lower_never_used_++;
  std::uint32_t slot = 0;
  if (copies_count_ > 0) {
    slot = copies_.back();
    copies_.erase(slot);
    --copies_count_;
  } else {
    KV_ASSERT(lower_evictable_ > 0, "the tier below holds nothing that may leave");
    slot = raw(lower_policy_->pop_victim(access));
    --lower_evictable_;
  }
  drop_below(slot);
  return slot;
}

void StreamingStore::drop_below(std::uint32_t slot) {
  BlockId& id = lower_contents_[SlotId{slot}];
  Place& place = places_[raw(id)];
  // A copy that is being brought up has no HBM slot yet.
  place.below = 0;
  id = kNoBlock;
  ++lower_.evicted;
}

// ---- what observers see
// --------------------------------------------------------------------------

TierLevel StreamingStore::hbm_level() const {
  TierLevel level = hbm_;
  level.resident = never_used_ - 1 - static_cast<std::uint32_t>(free_.size());
  level.used = hbm_used_ + nameless_;
  return level;
}

TierLevel StreamingStore::lower_level() const {
  TierLevel level = lower_;
  level.resident = lower_never_used_ - 1 - static_cast<std::uint32_t>(lower_free_.size());
  level.used = level.resident;
  return level;
}

void StreamingStore::check_drained() const {
  KV_ASSERT(claimed() == 0 && needed_ == 0 && hbm_used_ == 0 && below_only_ == 0,
            "{} blocks still claimed after the last request", claimed());
  KV_ASSERT(pinned() == 0, "{} HBM slots still pinned after the last request", pinned());
  KV_ASSERT(evictable_ == hbm_level().resident, "{} blocks in HBM, {} of them evictable",
            hbm_level().resident, evictable_);
}

}  // namespace spillway
