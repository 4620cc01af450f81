#include "models/engine/stores/block_store.hpp"

#include <algorithm>

namespace spillway {

namespace {
constexpr std::uint64_t kFirstStoreSlots = 1 << 10;  // then a quarter more at a time

/// Of a store that has room for all: nothing leaves for others, so nothing is put in order.
class KeepAll final : public EvictionPolicy {
 public:
  void add(SlotSpan, const Access&) override {}
  void touch(SlotSpan, const Access&) override {}
  void remove(SlotSpan, RemoveCause) override {}
  void pop_victims(std::span<SlotId>, BlockSpan, const Access&) override {
    KV_ASSERT(false, "a store without a bound gives blocks up");
  }
  void grow(std::uint32_t, std::uint32_t) override {}
};

}  // namespace

BlockStore::BlockStore(const Size& size, const EvictionChoice& eviction, EvictionContext context)
    : residency_(size.distinct),
      capacity_(std::min<std::uint64_t>(size.capacity, size.distinct)),
      blocks_(context.blocks),
      time_to_live_(size.time_to_live) {
  const std::uint64_t first = size.grows ? kFirstStoreSlots : context.blocks;
  pins_.grow(std::min(capacity_, first) + 1, 0);
  context.slots = static_cast<std::uint32_t>(pins_.size());
  context.capacity = size.capacity;
  context.contents = &contents_;
  contents_.resize(context.slots);
  if (size.grows && size.capacity == kUnbounded) {
    policy_ = std::make_unique<KeepAll>();
  } else {
    policy_ = eviction.make(context);
  }
  orders_all_ = policy_->orders_all();
}

void BlockStore::grow() {
  const std::uint64_t more = std::max<std::uint64_t>(pins_.size() / 4, kFirstStoreSlots);
  const auto slots = static_cast<std::uint32_t>(std::min(pins_.size() + more, capacity_ + 1));
  pins_.grow(slots, 0);
  contents_.resize(slots);
  policy_->grow(slots, blocks_);
}

void BlockStore::grow_blocks(std::uint32_t blocks) {
  blocks_ = blocks;
  policy_->grow(static_cast<std::uint32_t>(pins_.size()), blocks);
}

bool BlockStore::make_room(BlockSpan fresh, SlotSpan offered, const Access& access) {
  if (fresh.size() <= room()) return true;
  ++version_;
  const auto victims = static_cast<std::uint32_t>(fresh.size()) - room();
  if (!pop_victims(victims, fresh.last(victims), offered, access)) return false;
  for (const SlotId victim : victims_) {
    KV_ASSERT(pins_[raw(victim)] == 0, "evicted a pinned block");
    free_slot(victim, DropCause::kRoom);
  }
  return true;
}

/// The policy's next `count`, none of them `offered`, into victims_; false with nothing changed
/// where there are fewer.
bool BlockStore::pop_victims(std::uint32_t count, BlockSpan fresh, SlotSpan offered,
                             const Access& access) {
  scratch_.clear();
  for (const SlotId slot : offered) {
    if (pins_[raw(slot)] == 0) scratch_.push_back(slot);
  }
  if (count > evictable_ - scratch_.size()) return false;
  if (!scratch_.empty()) policy_->remove(scratch_, RemoveCause::kPinned);
  victims_.resize(count);
  const bool popped = policy_->try_pop_victims(victims_, fresh, access);
  if (popped) evictable_ -= count;
  if (!scratch_.empty()) policy_->add(scratch_, access);
  return popped;
}

inline void BlockStore::free_slot(SlotId slot, DropCause cause) {
  const BlockId block = contents_[slot];
  residency_[block].word = 0;
  contents_[slot] = kNoBlock;
  free_.push_back(raw(slot));
  --used_;
  ++evictions_;
  ++dropped_[static_cast<std::size_t>(cause)];
  if (watch_ != nullptr) [[unlikely]]
    tell_dropped(block);
}

void BlockStore::tell_stored(SlotSpan slots) {
  for (const SlotId slot : slots) watch_->on_stored(contents_[slot]);
}

void BlockStore::tell_dropped(BlockId block) {
  watch_->on_dropped(block);
}

void BlockStore::begin_leaving(std::uint32_t count, BlockSpan fresh, SlotSpan offered,
                               const Access& access, std::vector<SlotId>& out) {
  out.clear();
  count = std::min(count, evictable_);
  ++version_;
  fresh = fresh.size() >= count ? fresh.last(count) : BlockSpan();
  if (count == 0 || !pop_victims(count, fresh, offered, access)) return;
  for (const SlotId victim : victims_) {
    pins_[raw(victim)] = 1;
    set_busy(victim, true);
    leave(victim, DropCause::kMoved);
    leaving_[raw(victim)] |= kForgotten;
  }
  out.assign(victims_.begin(), victims_.end());
}

void BlockStore::trim(std::uint32_t count, const Access& access) {
  count = std::min(count, evictable_);
  ++version_;
  if (count == 0 || !pop_victims(count, {}, {}, access)) return;
  for (const SlotId victim : victims_) free_slot(victim, DropCause::kTrimmed);
}

void BlockStore::leave(SlotId slot, DropCause cause) {
  KV_ASSERT(pins_[raw(slot)] > 0, "a block that nothing reads leaves");
  if (leaving_.size() <= raw(slot)) leaving_.resize(pins_.size());
  if (leaving_[raw(slot)] != 0) return;
  leaving_[raw(slot)] = static_cast<std::uint8_t>(1 + static_cast<std::size_t>(cause));
  ++leaving_slots_;
}

void BlockStore::begin_write(BlockSpan blocks, std::vector<SlotId>& out) {
  ++version_;
  KV_ASSERT(blocks.size() <= room(), "a store beyond its capacity of {} blocks", capacity_);
  for (const BlockId block : blocks) {
    std::uint32_t index = never_used_;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (never_used_ == pins_.size()) grow();
      ++never_used_;
    }
    contents_[SlotId{index}] = block;
    pins_[index] = kWriting;
    residency_.place(block).word = index | BlockPlace::kBusy;
    if (orders_all_) policy_->insert(SlotId{index});
    out.push_back(SlotId{index});
  }
  used_ += static_cast<std::uint32_t>(blocks.size());
  stored_ += blocks.size();
}

void BlockStore::end_write(SlotSpan slots, const Access& access) {
  ++version_;
  for (const SlotId slot : slots) {
    KV_ASSERT(pins_[raw(slot)] == kWriting, "a write ended twice");
    pins_[raw(slot)] = 0;
    set_busy(slot, false);
  }
  evictable_ += static_cast<std::uint32_t>(slots.size());
  written_ += slots.size();
  policy_->add(slots, access);
  for (std::size_t i = 0; expires() && i < slots.size(); ++i) note_use(slots[i], access.now);
  if (watch_ != nullptr) [[unlikely]]
    tell_stored(slots);
  tell_room();
}

void BlockStore::begin_read(SlotSpan slots) {
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

void BlockStore::end_read(SlotSpan slots, const Access& access) {
  ++version_;
  scratch_.clear();
  for (const SlotId slot : slots) {
    std::int32_t& pins = pins_[raw(slot)];
    KV_ASSERT(pins > 0, "a load ended twice");
    if (--pins > 0) continue;
    if (leaving_slots_ > 0 && raw(slot) < leaving_.size() && leaving_[raw(slot)] != 0) {
      const std::uint8_t how = leaving_[raw(slot)];
      leaving_[raw(slot)] = 0;
      --leaving_slots_;
      if ((how & kForgotten) == 0) {
        policy_->add({&slot, 1}, access);
        policy_->remove({&slot, 1}, RemoveCause::kInvalidated);
      }
      free_slot(slot, static_cast<DropCause>((how & ~kForgotten) - 1));
      continue;
    }
    set_busy(slot, false);
    scratch_.push_back(slot);
  }
  evictable_ += static_cast<std::uint32_t>(scratch_.size());
  if (!scratch_.empty()) policy_->add(scratch_, access);
  for (std::size_t i = 0; expires() && i < scratch_.size(); ++i) note_use(scratch_[i], access.now);
  tell_room();
}

void BlockStore::note_use(SlotId slot, Time now) {
  if (used_at_.size() <= raw(slot)) used_at_.resize(std::size_t{raw(slot)} * 2 + 1);
  used_at_[raw(slot)] = now;
  uses_.push_back({now, slot, contents_[slot]});
}

void BlockStore::expire(Time now) {
  while (!uses_.empty() && uses_.front().at + time_to_live_ <= now) {
    const Use use = uses_.front();
    uses_.pop_front();
    const BlockPlace at = place(use.block);
    // Used again since, gone, or in use: the end of that is a use.
    if (!at.idle() || at.slot() != use.slot || used_at_[raw(use.slot)] != use.at) continue;
    ++version_;
    policy_->remove({&use.slot, 1}, RemoveCause::kInvalidated);
    --evictable_;
    free_slot(use.slot, DropCause::kExpired);
  }
}

BlockStore::Flow BlockStore::take_flow() {
  const Flow now{written_, evictions_};
  const Flow out{now.stored - taken_.stored, now.evicted - taken_.evicted};
  taken_ = now;
  return out;
}

void BlockStore::await_room(RoomListener& listener) {
  if (std::find(awaiting_room_.begin(), awaiting_room_.end(), &listener) == awaiting_room_.end()) {
    awaiting_room_.push_back(&listener);
  }
}

void BlockStore::tell_room() {
  if (awaiting_room_.empty()) return;
  const std::vector<RoomListener*> told = std::move(awaiting_room_);
  awaiting_room_.clear();
  for (RoomListener* listener : told) listener->on_room();
}

void BlockStore::touch(SlotSpan idle, const Access& access) {
  ++version_;
  if (!idle.empty()) policy_->touch(idle, access);
}

void BlockStore::touch_all(BlockSpan blocks, SlotSpan slots) {
  ++version_;
  if (leaving_slots_ > 0) {  // the policy has let go of these
    scratch_.assign(slots.begin(), slots.end());
    for (SlotId& slot : scratch_) {
      if (slot != kNoSlot && forgotten(slot)) slot = kNoSlot;
    }
    slots = scratch_;
  }
  if (policy_->touch_all(blocks, slots)) restless_ = true;
}

void BlockStore::check_drained() const {
  KV_ASSERT(used_ == evictable_ && leaving_slots_ == 0,
            "{} blocks still pinned after the last request", used_ - evictable_);
  KV_ASSERT(stored_ - evictions_ == used_,
            "blocks in ({}) less blocks out ({}) are not those held ({})", stored_, evictions_,
            used_);
}

}  // namespace spillway
