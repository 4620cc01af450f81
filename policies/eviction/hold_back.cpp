#include "policies/eviction/hold_back.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

HoldBack::HoldBack(std::unique_ptr<EvictionPolicy> base, const EvictionContext& context)
    : base_(std::move(base)),
      base_wants_chains_(base_->wants_chains()),
      contents_(*context.contents),
      aside_(kLists, context.slots),
      held_(context.blocks) {}

void HoldBack::on_lookup(BlockSpan chain, const Access& access) {
  if (base_wants_chains_) base_->on_lookup(chain, access);
  hear(chain, access);
}

void HoldBack::on_release(BlockSpan chain, const Access& access) {
  if (base_wants_chains_) base_->on_release(chain, access);
  hear(chain, access);
}

void HoldBack::on_growth(BlockSpan chain, const Access& access) {
  if (base_wants_chains_) base_->on_growth(chain, access);
  hear(chain, access);
}

/// Cuts `slots` into runs that are aside and runs that the base knows.
template <class Aside, class Other>
void HoldBack::for_runs(SlotSpan slots, const Aside& aside, const Other& other) {
  if (aside_count_ == 0) return other(slots);
  std::size_t i = 0;
  while (i < slots.size()) {
    const std::size_t first = i;
    const bool here = is_aside(slots[i]);
    do {  // a slot that comes twice is aside once
      if (here) take_back(slots[i]);
    } while (++i < slots.size() && is_aside(slots[i]) == here);
    const SlotSpan run = slots.subspan(first, i - first);
    if (here) {
      aside(run);
    } else {
      other(run);
    }
  }
}

void HoldBack::add(SlotSpan slots, const Access& access) {
  base_->add(slots, access);
  in_base_ += slots.size();
}

void HoldBack::touch(SlotSpan slots, const Access& access) {
  for_runs(
      slots, [&](SlotSpan run) { add(run, access); },
      [&](SlotSpan run) { base_->touch(run, access); });
}

void HoldBack::remove(SlotSpan slots, RemoveCause cause) {
  for_runs(
      slots, [](SlotSpan) {},
      [&](SlotSpan run) {
        base_->remove(run, cause);
        in_base_ -= run.size();
      });
}

void HoldBack::pop_victims(std::span<SlotId> out, BlockSpan incoming, const Access& access) {
  expire(access.now);
  std::size_t done = 0;
  while (done < out.size() && !aside_.empty(kDue)) out[done++] = pop_aside(kDue);
  if (!incoming.empty()) incoming = incoming.subspan(done);
  while (done < out.size() && in_base_ > 0) {
    const std::span<SlotId> named =
        out.subspan(done, std::min<std::uint64_t>(out.size() - done, in_base_));
    base_->pop_victims(named, incoming.first(std::min(incoming.size(), named.size())), access);
    in_base_ -= named.size();
    incoming = {};
    for (const SlotId slot : named) {
      if (!set_aside(slot)) out[done++] = slot;
    }
  }
  while (done < out.size()) out[done++] = pop_aside(kHeld);
}

void HoldBack::grow(std::uint32_t slots, std::uint32_t blocks) {
  base_->grow(slots, blocks);
  aside_.grow(slots);
  held_.resize(blocks);
  grow_further(slots, blocks);
}

void HoldBack::claim(BlockId block, const Access& access) {
  Held& held = held_[raw(block)];
  ++held.claims;
  if (held.aside != kNoSlot) return_to_base(held.aside, access);
}

void HoldBack::unclaim(BlockId block) {
  if (!ended_aside(block)) return;
  const SlotId slot = held_[raw(block)].aside;
  aside_.erase(raw(slot));
  aside_.push_back(kDue, raw(slot));
}

void HoldBack::unclaim_used(BlockId block, const Access& access) {
  if (ended_aside(block)) return_to_base(held_[raw(block)].aside, access);
}

void HoldBack::return_to_base(SlotId slot, const Access& access) {
  take_back(slot);
  add({&slot, 1}, access);
}

/// A slot that the base has named stays where its block is held and no other slot of it is aside.
bool HoldBack::set_aside(SlotId slot) {
  const BlockId block = contents_[slot];
  if (block == kNoBlock) return false;
  Held& held = held_[raw(block)];
  if (held.claims == 0 || held.aside != kNoSlot) return false;
  held.aside = slot;
  aside_.push_back(kHeld, raw(slot));
  ++aside_count_;
  return true;
}

void HoldBack::take_back(SlotId slot) {
  SlotId& aside = held_[raw(contents_[slot])].aside;
  KV_ASSERT(aside == slot, "slot {} is aside and its block {} does not know", raw(slot),
            raw(contents_[slot]));
  aside = kNoSlot;
  aside_.erase(raw(slot));
  --aside_count_;
}

SlotId HoldBack::pop_aside(List list) {
  const SlotId slot{aside_.front(list)};
  take_back(slot);
  return slot;
}

}  // namespace spillway
