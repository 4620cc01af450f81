#include "models/cache_replay.hpp"

#include <algorithm>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

namespace {

/// One tier whose slots are the trace's blocks themselves.
class Replay {
 public:
  Replay(const Workload& workload, const EvictionEntry& policy, std::uint64_t capacity)
      : workload_(workload),
        capacity_(capacity),
        policy_(policy.make({workload.unique_blocks()})),
        resident_(workload.unique_blocks(), 0) {}

  ReplayCounts run(TouchOrder order, Atomicity atomicity) {
    std::vector<SlotId> reversed;
    for (std::uint32_t i = 0; i < workload_.size(); ++i) {
      const RequestId request{i};
      const Access access{workload_.arrival(request), request};
      const SlotSpan chain = slots_of(workload_.chain(request));
      counts_.references += chain.size();
      if (atomicity == Atomicity::kReference) {
        by_reference(chain, access);
        continue;
      }
      look_up(chain);
      if (order == TouchOrder::kReverse) {
        reversed.assign(chain.rbegin(), chain.rend());
        insert(reversed, access);
      } else {
        insert(chain, access);
      }
    }
    return counts_;
  }

 private:
  static SlotSpan slots_of(std::span<const TraceBlockId> chain) {
    static_assert(sizeof(SlotId) == sizeof(TraceBlockId));
    return {reinterpret_cast<const SlotId*>(chain.data()), chain.size()};
  }

  void look_up(SlotSpan chain) {
    std::size_t leading = 0;
    while (leading < chain.size() && resident_[raw(chain[leading])] != 0) ++leading;
    std::size_t hits = leading;
    for (std::size_t i = leading; i < chain.size(); ++i) hits += resident_[raw(chain[i])];
    counts_.prefix_hits += leading;
    counts_.block_hits += hits;
  }

  void insert(SlotSpan blocks, const Access& access) {
    // Runs of residents, and of newcomers while there is room, reach the policy as one call.
    std::size_t at = 0;
    while (at < blocks.size()) {
      std::size_t end = at + 1;
      if (resident_[raw(blocks[at])] != 0) {
        while (end < blocks.size() && resident_[raw(blocks[end])] != 0) ++end;
        policy_->touch(blocks.subspan(at, end - at), access);
      } else {
        make_room(access);
        resident_[raw(blocks[at])] = 1;
        ++used_;
        while (end < blocks.size() && used_ < capacity_ && resident_[raw(blocks[end])] == 0) {
          resident_[raw(blocks[end++])] = 1;
          ++used_;
        }
        policy_->add(blocks.subspan(at, end - at), access);
      }
      at = end;
    }
  }

  void by_reference(SlotSpan chain, const Access& access) {
    bool leading = true;
    for (const SlotId& block : chain) {
      const bool hit = resident_[raw(block)] != 0;
      leading = leading && hit;
      counts_.block_hits += hit ? 1 : 0;
      counts_.prefix_hits += leading ? 1 : 0;
      insert({&block, 1}, access);
    }
  }

  void make_room(const Access& access) {
    if (used_ < capacity_) return;
    const SlotId victim = policy_->pop_victim(access.now);
    KV_ASSERT(resident_[raw(victim)] != 0, "evicted block {} twice", raw(victim));
    resident_[raw(victim)] = 0;
    --used_;
    ++counts_.evictions;
  }

  const Workload& workload_;
  std::uint64_t capacity_;
  std::unique_ptr<EvictionPolicy> policy_;
  std::vector<std::uint8_t> resident_;
  std::uint64_t used_ = 0;
  ReplayCounts counts_;
};

}  // namespace

ReplayCounts replay_cache(const Workload& workload, const EvictionEntry& policy,
                          std::uint64_t capacity_blocks, TouchOrder order, Atomicity atomicity) {
  KV_ASSERT(capacity_blocks > 0, "a cache of no blocks");
  return Replay(workload, policy, capacity_blocks).run(order, atomicity);
}

}  // namespace spillway
