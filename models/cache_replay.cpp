#include "models/cache_replay.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {
constexpr SlotId kAbsent{~std::uint32_t{0}};
constexpr std::uint64_t kFirstSlots = 4096;

std::uint32_t slots_for(std::uint64_t wanted, std::uint64_t capacity) {
  return static_cast<std::uint32_t>(
      std::min({wanted, capacity, static_cast<std::uint64_t>(raw(kAbsent))}));
}
}  // namespace

CacheReplay::CacheReplay(const EvictionEntry& policy, std::uint64_t capacity_blocks,
                         TouchOrder order, Atomicity atomicity)
    : capacity_(capacity_blocks), order_(order), atomicity_(atomicity) {
  KV_ASSERT(capacity_blocks > 0, "a cache of no blocks");
  if (capacity_ == kUnboundedCache) return;
  slots_ = slots_for(kFirstSlots, capacity_);
  policy_ = policy.make({slots_});
}

void CacheReplay::run(const RequestBatch& batch) {
  if (policy_ != nullptr) slot_.resize(batch.blocks, kAbsent);
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
    if (atomicity_ == Atomicity::kReference) known = known_;
    const bool hit = raw(block) < known;
    leading = leading && hit;
    counts_.block_hits += hit ? 1 : 0;
    counts_.prefix_hits += leading ? 1 : 0;
    known_ = std::max(known_, raw(block) + 1);
  }
}

void CacheReplay::run_bounded(Chain chain, const Access& access) {
  if (atomicity_ == Atomicity::kRequest) {
    look_up(chain);
    if (order_ == TouchOrder::kReverse) {
      insert(chain.rbegin(), chain.rend(), access);
    } else {
      insert(chain.begin(), chain.end(), access);
    }
    return;
  }
  bool leading = true;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const bool hit = slot_[raw(chain[i])] != kAbsent;
    leading = leading && hit;
    counts_.block_hits += hit ? 1 : 0;
    counts_.prefix_hits += leading ? 1 : 0;
    const Chain one = chain.subspan(i, 1);
    insert(one.begin(), one.end(), access);
  }
}

void CacheReplay::look_up(Chain chain) {
  const auto resident = [this](TraceBlockId block) { return slot_[raw(block)] != kAbsent; };
  const auto miss = std::find_if_not(chain.begin(), chain.end(), resident);
  const auto leading = static_cast<std::uint64_t>(miss - chain.begin());
  counts_.prefix_hits += leading;
  counts_.block_hits +=
      leading + static_cast<std::uint64_t>(std::count_if(miss, chain.end(), resident));
}

/// Runs of residents, and of newcomers while there is room, reach the policy as one call.
template <class Iterator>
void CacheReplay::insert(Iterator at, Iterator end, const Access& access) {
  const auto resident = [&] { return slot_[raw(*at)] != kAbsent; };
  while (at != end) {
    run_.clear();
    if (resident()) {
      do {
        run_.push_back(slot_[raw(*at)]);
      } while (++at != end && resident());
      policy_->touch(run_, access);
    } else {
      do {
        put(*at, access);
      } while (++at != end && block_.size() < capacity_ && !resident());
      policy_->add(run_, access);
    }
  }
}

void CacheReplay::put(TraceBlockId block, const Access& access) {
  const SlotId slot = take_slot(access);
  block_[raw(slot)] = block;
  slot_[raw(block)] = slot;
  run_.push_back(slot);
}

SlotId CacheReplay::take_slot(const Access& access) {
  if (block_.size() < capacity_) {
    if (block_.size() == slots_) {
      slots_ = slots_for(2 * std::uint64_t{slots_}, capacity_);
      policy_->grow(slots_);
    }
    block_.emplace_back();
    return SlotId{static_cast<std::uint32_t>(block_.size() - 1)};
  }
  const SlotId victim = policy_->pop_victim(access.now);
  const TraceBlockId block = block_[raw(victim)];
  KV_ASSERT(slot_[raw(block)] == victim, "evicted block {} twice", raw(block));
  slot_[raw(block)] = kAbsent;
  ++counts_.evictions;
  return victim;
}

ReplayCounts replay_cache(const Workload& workload, const EvictionEntry& policy,
                          std::uint64_t capacity_blocks, TouchOrder order, Atomicity atomicity) {
  const bool fits = capacity_blocks >= workload.unique_blocks();
  CacheReplay cache(policy, fits ? kUnboundedCache : capacity_blocks, order, atomicity);
  cache.run(workload.all());
  return cache.counts();
}

}  // namespace spillway
