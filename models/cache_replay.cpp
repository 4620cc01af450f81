#include "models/cache_replay.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kFirstSlots = 4096;
/// Marks a block that is about to get a slot, so that its repetition ends the run.
constexpr SlotId kComing{raw(kNoSlot) - 1};

std::uint32_t slots_for(std::uint64_t wanted, std::uint64_t capacity) {
  return static_cast<std::uint32_t>(
      std::min({wanted, capacity, static_cast<std::uint64_t>(raw(kComing))}));
}

}  // namespace

ReplayFacts::ReplayFacts(const Workload& workload, const PolicyNeeds& needs, Atomicity atomicity) {
  if (needs.requests) requests_ = std::make_unique<RequestFacts>(request_facts(workload));
  if (needs.future) future_ = std::make_unique<NextUse>(next_use(workload, atomicity));
}

CacheReplay::CacheReplay(const EvictionChoice& policy, const ReplaySetup& setup) : setup_(setup) {
  KV_ASSERT(setup.capacity_blocks > 0, "a cache of no blocks");
  if (setup.capacity_blocks == kUnboundedCache) return;
  slots_ = slots_for(kFirstSlots, setup.capacity_blocks);
  contents_ = std::make_unique<SlotContents>();
  contents_->resize(slots_);
  EvictionContext context;
  context.slots = slots_;
  context.capacity = setup.capacity_blocks;
  context.block_tokens = setup.block_tokens;
  context.contents = contents_.get();
  if (setup.facts != nullptr) {
    context.requests = setup.facts->requests();
    context.future = setup.facts->future();
  }
  const PolicyNeeds needs = policy.needs();
  KV_ASSERT(context.requests != nullptr || !needs.requests, "{} needs requests", policy.name());
  KV_ASSERT(context.future != nullptr || !needs.future, "{} needs the future", policy.name());
  policy_ = policy.make(context);
  wants_chains_ = policy_->wants_chains();
  if (policy_->pops_ahead()) most_at_once_ = setup.capacity_blocks;
}

bool CacheReplay::resident(TraceBlockId block) const {
  return slot_[raw(block)] != kNoSlot;
}

void CacheReplay::run(const RequestBatch& batch) {
  if (policy_ != nullptr && batch.blocks > blocks_) {
    blocks_ = batch.blocks;
    slot_.grow(blocks_, kNoSlot);
    policy_->grow(slots_, blocks_);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Chain chain = batch.chain_of(i);
    counts_.references += chain.size();
    if (policy_ == nullptr) {
      run_unbounded(chain);
    } else {
      const auto request = RequestId{raw(batch.first) + static_cast<std::uint32_t>(i)};
      run_bounded(chain, {time_at(batch.arrival_ns[i]), request});
    }
  }
}

/// Whatever has appeared is there; ids are numbered by first appearance.
void CacheReplay::run_unbounded(Chain chain) {
  std::uint32_t known = known_;
  bool leading = true;
  for (const TraceBlockId block : chain) {
    if (setup_.atomicity == Atomicity::kReference) known = known_;
    const bool hit = raw(block) < known;
    leading = leading && hit;
    counts_.block_hits += hit ? 1 : 0;
    counts_.prefix_hits += leading ? 1 : 0;
    known_ = std::max(known_, raw(block) + 1);
  }
}

void CacheReplay::run_bounded(Chain chain, const Access& access) {
  if (wants_chains_) {
    chain_.clear();
    for (const TraceBlockId block : chain) chain_.push_back(as_block(block));
    policy_->on_lookup(chain_, access);
  }
  if (setup_.atomicity == Atomicity::kReference) {
    leading_ = true;
    insert(chain.begin(), chain.end(), access);
    return;
  }
  look_up(chain);
  if (setup_.order == TouchOrder::kReverse) {
    insert(chain.rbegin(), chain.rend(), access);
  } else {
    insert(chain.begin(), chain.end(), access);
  }
}

void CacheReplay::look_up(Chain chain) {
  const auto here = [this](TraceBlockId block) { return resident(block); };
  const auto miss = std::find_if_not(chain.begin(), chain.end(), here);
  const auto leading = static_cast<std::uint64_t>(miss - chain.begin());
  counts_.prefix_hits += leading;
  counts_.block_hits +=
      leading + static_cast<std::uint64_t>(std::count_if(miss, chain.end(), here));
}

/// Runs of residents, and of newcomers where the policy allows it, reach the policy as one call.
/// What a newcomer pushes out may stand later in the same chain: it is absent by then.
template <class Iterator>
void CacheReplay::insert(Iterator at, Iterator end, const Access& access) {
  const auto length = static_cast<std::size_t>(end - at);
  if (run_.size() < length) {
    run_.resize(length);
    incoming_.resize(length);
  }
  while (at != end) {
    if (resident(*at)) {
      at = touch_run(at, end, access);
    } else {
      leading_ = false;
      at =
          used_ < setup_.capacity_blocks ? fill_run(at, end, access) : replace_run(at, end, access);
    }
  }
}

template <class Iterator>
Iterator CacheReplay::touch_run(Iterator at, Iterator end, const Access& access) {
  const SlotId* const slot_of = slot_.data();
  SlotId* const run = run_.data();
  std::size_t n = 0;
  SlotId slot = slot_of[raw(*at)];
  do {
    run[n++] = slot;
  } while (++at != end && (slot = slot_of[raw(*at)]) != kNoSlot);
  if (setup_.atomicity == Atomicity::kReference) {
    counts_.block_hits += n;
    counts_.prefix_hits += leading_ ? n : 0;
  }
  policy_->touch({run, n}, access);
  return at;
}

/// Newcomers while there is room.
template <class Iterator>
Iterator CacheReplay::fill_run(Iterator at, Iterator end, const Access& access) {
  std::size_t n = 0;
  do {
    const SlotId slot = new_slot();
    (*contents_)[slot] = as_block(*at);
    slot_[raw(*at)] = slot;
    run_[n++] = slot;
  } while (++at != end && used_ < setup_.capacity_blocks && !resident(*at));
  policy_->add({run_.data(), n}, access);
  return at;
}

SlotId CacheReplay::new_slot() {
  if (used_ == slots_) {
    slots_ = slots_for(2 * std::uint64_t{slots_}, setup_.capacity_blocks);
    contents_->resize(slots_);
    policy_->grow(slots_, blocks_);
  }
  return SlotId{used_++};
}

/// Newcomers into the places of victims.
template <class Iterator>
Iterator CacheReplay::replace_run(Iterator at, Iterator end, const Access& access) {
  SlotId* const slot_of = slot_.data();
  BlockId* const incoming = incoming_.data();
  std::size_t n = 0;
  do {
    incoming[n++] = as_block(*at);
    slot_of[raw(*at)] = kComing;
  } while (++at != end && n < most_at_once_ && slot_of[raw(*at)] == kNoSlot);
  const std::span<SlotId> victims(run_.data(), n);
  policy_->pop_victims(victims, {incoming, n}, access);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const SlotId victim = victims[i];
    if (victim == kNoSlot) {
      slot_of[raw(incoming[i])] = kNoSlot;
      continue;
    }
    BlockId& held = (*contents_)[victim];
    SlotId& slot = slot_of[raw(held)];
    KV_ASSERT(slot == victim, "evicted block {} twice", raw(held));
    slot = kNoSlot;
    held = incoming[i];
    slot_of[raw(held)] = victim;
    victims[kept++] = victim;
  }
  counts_.evictions += kept;
  if (kept > 0) policy_->add(victims.first(kept), access);
  return at;
}

ReplayCounts replay_cache(const Workload& workload, const EvictionChoice& policy,
                          std::uint64_t capacity_blocks, TouchOrder order, Atomicity atomicity) {
  ReplaySetup setup;
  setup.capacity_blocks =
      capacity_blocks >= workload.unique_blocks() ? kUnboundedCache : capacity_blocks;
  setup.order = order;
  setup.atomicity = atomicity;
  setup.block_tokens = workload.block_tokens();
  const ReplayFacts facts(workload, policy.needs(), atomicity);
  setup.facts = &facts;
  CacheReplay cache(policy, setup);
  cache.run(workload.all());
  return cache.counts();
}

}  // namespace spillway
