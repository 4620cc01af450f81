#include "models/tiered_replay.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kFirstTierSlots = 4096;

std::uint32_t tier_slots_for(std::uint64_t wanted, std::uint64_t capacity) {
  return static_cast<std::uint32_t>(
      std::min({wanted, capacity, static_cast<std::uint64_t>(raw(kNoSlot))}));
}

}  // namespace

ReplayTier::ReplayTier(const ReplayTierSetup& tier, const TieredReplaySetup& setup)
    : capacity_(tier.capacity_blocks) {
  KV_ASSERT(capacity_ > 0, "a tier of no blocks");
  if (capacity_ == kUnboundedCache) return;
  slots_ = tier_slots_for(kFirstTierSlots, capacity_);
  contents_ = std::make_unique<SlotContents>();
  contents_->resize(slots_);
  EvictionContext context;
  context.slots = slots_;
  context.capacity = capacity_;
  context.block_tokens = setup.block_tokens;
  context.contents = contents_.get();
  if (setup.facts != nullptr) {
    context.requests = setup.facts->requests();
    context.future = setup.facts->future();
  }
  const PolicyNeeds needs = tier.policy.needs();
  KV_ASSERT(context.requests != nullptr || !needs.requests, "{} needs requests",
            tier.policy.name());
  KV_ASSERT(context.future != nullptr || !needs.future, "{} needs the future", tier.policy.name());
  policy_ = tier.policy.make(context);
}

void ReplayTier::grow(std::uint32_t blocks) {
  blocks_ = blocks;
  slot_.resize(blocks, kNoSlot);
  if (policy_ != nullptr) policy_->grow(slots_, blocks);
}

void ReplayTier::touch(std::span<const TraceBlockId> blocks, const Access& access) {
  if (policy_ == nullptr) return;
  run_.clear();
  for (const TraceBlockId block : blocks) run_.push_back(slot_[raw(block)]);
  policy_->touch(run_, access);
}

SlotId ReplayTier::free_slot() {
  if (!free_.empty()) {
    const SlotId slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (used_ == slots_) {
    slots_ = tier_slots_for(2 * std::uint64_t{slots_}, capacity_);
    contents_->resize(slots_);
    policy_->grow(slots_, blocks_);
  }
  return SlotId{used_++};
}

std::optional<TraceBlockId> ReplayTier::put(TraceBlockId block, const Access& access) {
  std::optional<TraceBlockId> leaves;
  SlotId slot{};
  if (policy_ == nullptr) {
    ++resident_;
  } else if (resident_ < capacity_) {
    slot = free_slot();
    ++resident_;
  } else {
    const BlockId incoming = as_block(block);
    policy_->pop_victims({&slot, 1}, {&incoming, 1}, access);
    if (slot == kNoSlot) return block;
    leaves = TraceBlockId{raw((*contents_)[slot])};
    SlotId& of_victim = slot_[raw(*leaves)];
    KV_ASSERT(of_victim == slot, "evicted block {} twice", raw(*leaves));
    of_victim = kNoSlot;
    ++counts_.evictions;
    ++counts_.blocks_out;
  }
  ++counts_.blocks_in;
  slot_[raw(block)] = slot;
  if (policy_ != nullptr) {
    (*contents_)[slot] = as_block(block);
    policy_->add({&slot, 1}, access);
  }
  return leaves;
}

void ReplayTier::take(TraceBlockId block) {
  const SlotId slot = slot_[raw(block)];
  KV_ASSERT(slot != kNoSlot, "block {} is not in the tier", raw(block));
  if (policy_ != nullptr) {
    policy_->remove({&slot, 1}, RemoveCause::kInvalidated);
    (*contents_)[slot] = kNoBlock;
    free_.push_back(slot);
  }
  slot_[raw(block)] = kNoSlot;
  --resident_;
  ++counts_.blocks_out;
}

void ReplayTier::forget_move() {
  --counts_.blocks_in;
  --counts_.blocks_out;
}

TieredReplay::TieredReplay(std::span<const ReplayTierSetup> tiers, const TieredReplaySetup& setup)
    : setup_(setup) {
  KV_ASSERT(!tiers.empty() && tiers.size() < kNowhere, "{} tiers", tiers.size());
  for (const ReplayTierSetup& tier : tiers) {
    KV_ASSERT(
        setup.inclusion == Inclusion::kInclusive || tiers_.empty() || !tier.policy.needs().future,
        "{} in a tier that does not see every reference", tier.policy.name());
    tiers_.emplace_back(tier, setup);
  }
}

void TieredReplay::run(const RequestBatch& batch) {
  if (batch.blocks > blocks_) {
    blocks_ = batch.blocks;
    for (ReplayTier& tier : tiers_) tier.grow(blocks_);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto request = RequestId{raw(batch.first) + static_cast<std::uint32_t>(i)};
    run_request(batch.chain_of(i), {time_at(batch.arrival_ns[i]), request});
  }
}

void TieredReplay::run_request(Chain chain, const Access& access) {
  references_ += chain.size();
  chain_.clear();
  for (ReplayTier& tier : tiers_) {
    if (!tier.wants_chains()) continue;
    if (chain_.empty()) {
      for (const TraceBlockId block : chain) chain_.push_back(as_block(block));
    }
    tier.look_up(chain_, access);
  }
  found_.assign(chain.size(), kNowhere);
  Chain walk = chain;
  if (setup_.atomicity == Atomicity::kRequest) {
    for (std::size_t i = 0; i < chain.size(); ++i) found_[i] = depth_of(chain[i]);
    count(chain);
    if (setup_.order == TouchOrder::kReverse) {
      reversed_.assign(chain.rbegin(), chain.rend());
      walk = reversed_;
    }
  }
  if (setup_.inclusion == Inclusion::kInclusive) {
    insert_inclusive(walk, access);
  } else {
    insert_exclusive(walk, access);
  }
  if (setup_.atomicity == Atomicity::kReference) count(chain);
}

TieredReplay::Depth TieredReplay::depth_of(TraceBlockId block) const {
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (tiers_[k].has(block)) return static_cast<Depth>(k);
  }
  return kNowhere;
}

/// Touches the residents from `at` on as one run; where it ends. By reference, that finds them.
std::size_t TieredReplay::touch_run(Depth depth, Chain walk, std::size_t at, const Access& access) {
  ReplayTier& tier = tiers_[depth];
  std::size_t end = at;
  while (end < walk.size() && tier.has(walk[end])) ++end;
  tier.touch(walk.subspan(at, end - at), access);
  if (setup_.atomicity == Atomicity::kReference) {
    for (std::size_t i = at; i < end; ++i) found_[i] = std::min(found_[i], depth);
  }
  return end;
}

/// The tiers do not see each other, so that each can take the whole walk at once.
void TieredReplay::insert_inclusive(Chain walk, const Access& access) {
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    for (std::size_t at = 0; at < walk.size();) {
      if (tiers_[k].has(walk[at])) {
        at = touch_run(static_cast<Depth>(k), walk, at, access);
      } else {
        tiers_[k].put(walk[at++], access);
      }
    }
  }
}

/// What a newcomer pushes out may stand later in the same walk: it is elsewhere by then.
void TieredReplay::insert_exclusive(Chain walk, const Access& access) {
  for (std::size_t at = 0; at < walk.size();) {
    const Depth home = depth_of(walk[at]);
    if (home == 0) {
      at = touch_run(home, walk, at, access);
      continue;
    }
    if (setup_.atomicity == Atomicity::kReference) found_[at] = home;
    place(walk[at++], home, access);
  }
}

void TieredReplay::place(TraceBlockId block, Depth home, const Access& access) {
  if (home != kNowhere) tiers_[home].take(block);
  TraceBlockId moving = block;
  for (ReplayTier& tier : tiers_) {
    const std::optional<TraceBlockId> leaves = tier.put(moving, access);
    if (!leaves) break;
    moving = *leaves;
  }
  if (home != kNowhere && tiers_[home].has(block)) tiers_[home].forget_move();
}

void TieredReplay::count(Chain chain) {
  bool leading = true;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    leading = leading && found_[i] != kNowhere;
    if (found_[i] == kNowhere) continue;
    ReplayTierCounts& counts = tiers_[found_[i]].counts();
    ++counts.block_hits;
    counts.prefix_hits += leading ? 1 : 0;
  }
}

ReplayCounts TieredReplay::counts() const {
  ReplayCounts out;
  out.references = references_;
  for (const ReplayTier& tier : tiers_) {
    out.block_hits += tier.counts().block_hits;
    out.prefix_hits += tier.counts().prefix_hits;
    out.evictions += tier.counts().evictions;
  }
  return out;
}

}  // namespace spillway
