// The HBM block pool with its prefix cache (vllm/v1/core/block_pool.py and kv_cache_utils.py).
//
// A slot is in use (references > 0) or free. Free slots leave in this order: unhashed ones freed
// lately (last in, first out), those never used, then cached ones as the eviction policy decides.
// A block enters the cache when it is registered and leaves when its slot is handed out again. The
// same block may be cached in several slots (an aligned full hit recomputes its last block); the
// one registered first answers look-ups, the next takes over when it leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/chains/block_columns.hpp"
#include "models/engine/stores/residency.hpp"
#include "policies/catalogue.hpp"
#include "sim/error.hpp"
#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

class KvPool final : public BlockColumns {
 public:
  /// `slots` includes slot 0, the null block. `unhashed_front`: see EngineConfig. `context` is what
  /// the policy may know beside the pool; its block ids grow to `most_blocks` at most, where that
  /// is more. Throws InputError when it does not fit.
  KvPool(std::uint32_t slots, const EvictionChoice& eviction, EvictionContext context,
         bool unhashed_front, std::uint32_t most_blocks = 0);

  std::uint32_t usable() const { return usable_; }
  std::uint32_t free() const { return free_; }
  std::uint32_t used() const { return usable_ - free_; }
  /// Slots that hold a registered block, in use or free.
  std::uint32_t cached() const { return cached_; }
  std::uint64_t registered() const { return registered_; }
  std::uint64_t evictions() const { return evictions_; }
  /// Where it wants_chains(), the policy is told them before the slots change hands.
  EvictionPolicy& policy() { return *policy_; }
  bool in_use(SlotId slot) const {
    return raw(slot) < slots_.size() && slots_[raw(slot)].references > 0;
  }
  /// Where blocks are, those of the ids from `first` on: the slot that answers look-ups.
  const BlockPlace* places(std::uint32_t first) const { return residency_.from(first); }
  /// kNoBlock where the slot holds no registered block.
  BlockId block_in(SlotId slot) const {
    return raw(slot) < slots_.size() ? contents_[slot] : kNoBlock;
  }

  /// A free slot for one request. Precondition: free() > 0.
  SlotId take(const Access& access);
  /// One more user of each of these cached slots.
  void share(SlotSpan slots);
  /// The slot's content is block `id`, complete from now on.
  void register_block(SlotId slot, BlockId id);
  /// One user less of each; those without users become free, the last of `slots` first.
  void release(SlotSpan slots, const Access& access);

  /// Fences: a slot that a pending store of a finished request still reads is guarded; handing it
  /// to a request is noticed until the next begin_step().
  void begin_step() {
    ++step_;
    guarded_given_ = false;
  }
  void guard(SlotId slot) { ++slots_[raw(slot)].guards; }
  void unguard(SlotId slot);
  void note_given(SlotSpan slots);
  /// The request that holds these slots leaves the step: none of them was given to it.
  void forget_given(SlotSpan slots);
  bool guarded_given() const { return guarded_given_; }
  bool given_this_step(SlotId slot) const { return slots_[raw(slot)].given == step_; }

  /// Watches a look-up: `hits`, and the block at which it missed (kNoBlock: none). changed() turns
  /// true once one of the hits leaves, gains its first or loses its last user, or the missed block
  /// is registered; until then the same look-up finds the same. One look-up is watched at a time.
  void watch(SlotSpan hits, BlockId missed);
  bool watched_changed() const { return watched_changed_; }

  /// Calls visit(slot) for the free slots in the order in which they would be handed out, from the
  /// one behind `after` (a free slot; kNoSlot: from the first), until it returns false. Cached ones
  /// are among them where the policy tells its order.
  template <class Visit>
  void walk_free(SlotId after, Visit visit) const;

  void grow_blocks(std::uint32_t blocks) override;
  void tell(StoreWatch& watch) { watch_ = &watch; }

  /// Always-on invariants that are too slow for every step; called when a run ends.
  void check_drained() const;

 private:
  struct Slot {
    std::uint32_t references = 0;
    std::uint32_t given = 0;      ///< step in which it was last handed to a request
    std::uint32_t next_copy = 0;  ///< another slot with the same block; 0: none
    std::uint32_t guards = 0;
    bool watched = false;
  };

  void evict(std::uint32_t slot);
  // Apart, so that nobody pays for them whom nobody watches.
  [[gnu::noinline]] void tell_stored(SlotId slot, BlockId id);
  [[gnu::noinline]] void tell_dropped(BlockId id);
  /// Slots are made as they are first handed out.
  void grow();
  void give(Slot& slot) {
    slot.given = step_;
    guarded_given_ = guarded_given_ || slot.guards > 0;
  }

  ResidencyColumn residency_;
  StoreWatch* watch_ = nullptr;
  SlotContents contents_;
  std::unique_ptr<EvictionPolicy> policy_;
  bool unhashed_front_;
  std::uint32_t usable_;
  std::uint32_t free_;
  std::uint32_t never_used_ = 1;  ///< slots from here on were never handed out
  std::uint32_t cached_ = 0;
  std::uint32_t step_ = 0;
  std::uint32_t blocks_;  ///< block ids are below this
  bool guarded_given_ = false;
  std::uint64_t registered_ = 0;
  std::uint64_t evictions_ = 0;
  GrowingColumn<Slot> slots_;
  std::vector<SlotId> unhashed_;  ///< a stack
  std::vector<SlotId> scratch_;
  std::vector<SlotId> watched_;
  BlockId watched_miss_ = kNoBlock;
  bool watched_changed_ = true;
};

// Here, for it is called once a block.
inline void KvPool::register_block(SlotId slot, BlockId id) {
  Slot& full = slots_[raw(slot)];
  KV_ASSERT(contents_[slot] == kNoBlock, "slot {} registered twice", raw(slot));
  contents_[slot] = id;
  full.next_copy = 0;
  std::uint32_t* link = &residency_.place(id).word;
  while (*link != 0) link = &slots_[*link].next_copy;
  *link = raw(slot);
  ++cached_;
  ++registered_;
  watched_changed_ = watched_changed_ || id == watched_miss_;
  if (watch_ != nullptr) [[unlikely]]
    tell_stored(slot, id);
}

template <class Visit>
void KvPool::walk_free(SlotId after, Visit visit) const {
  std::size_t stack = unhashed_.size();
  std::uint32_t unused = never_used_;
  SlotId cached = kNoSlot;
  if (after != kNoSlot && raw(after) >= never_used_) {
    stack = 0;
    unused = raw(after) + 1;
  } else if (after != kNoSlot && unhashed_front_ && contents_[after] == kNoBlock) {
    while (unhashed_[--stack] != after) {
    }
  } else if (after != kNoSlot) {
    stack = 0;
    unused = usable_ + 1;
    cached = after;
  }
  while (stack > 0) {
    if (!visit(unhashed_[--stack])) return;
  }
  for (; unused <= usable_; ++unused) {
    if (!visit(SlotId{unused})) return;
  }
  while ((cached = policy_->after(cached)) != kNoSlot) {
    if (!visit(cached)) return;
  }
}

}  // namespace spillway
