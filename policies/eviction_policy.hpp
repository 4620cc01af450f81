// The contract of an eviction policy: which block leaves a tier next.
//
// A policy orders the *evictable* slots of one tier; a pinned slot is not here (SQLite's rule: a
// page is pinned exactly when it is not on the LRU list). It sees slots, never the tier: a slot is
// a place that holds one block until pop_victims() names it or remove() withdraws it. Slots, not
// block ids, index the order, so that its memory follows the tier's size and a loop over a small
// tier stays in cache. A policy that remembers blocks beyond their stay (ghosts, counts), or needs
// their place in a chain, finds a slot's block in SlotContents and indexes columns by block id.
//
// What is a use: the first add() after a slot was named as a victim, or was invalidated or never
// stored, is its block's first; touch() is one more; so is an add() after remove(kPinned), however
// many requests shared the pin. State by slot is therefore kept over a pin, and cleared in
// pop_victims() and on kInvalidated: no other call tells a new block from one that returns.
//
// A slot may hold a block without a name (kNoBlock), one that is not full: it cannot be found
// again, so it is worth least; look before a column is indexed by it. Two slots may hold the same
// block (an aligned full hit recomputes its last one).
//
// Life of one request, as the tier tells it: on_lookup() with its chain; remove() or touch() for
// what it found and uses, pop_victims() and later add() for what it brings; on_release() where it
// had grown beyond its prompt; add() for what nobody pins any more.
#pragma once

#include <cstdint>
#include <span>

#include "sim/growing_column.hpp"
#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace spillway {

/// Who asks, and when.
struct Access {
  Time now{};
  RequestId request{};
};

enum class RemoveCause : std::uint8_t {
  kPinned,       ///< in use; it comes back through add() and holds the same block until then
  kInvalidated,  ///< its block is gone, or has moved to another tier; its contents still say which
};

/// Blocks [from, to) of a chain.
struct BlockRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

/// Which block each slot of a tier holds; kNoBlock where that has no name (yet). Kept by the tier.
class SlotContents {
 public:
  BlockId operator[](SlotId slot) const { return block_[raw(slot)]; }
  BlockId& operator[](SlotId slot) { return block_[raw(slot)]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(block_.size()); }
  void resize(std::uint32_t slots) { block_.grow(slots, kNoBlock); }

 private:
  GrowingColumn<BlockId> block_;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  /// `slots` became evictable: stored and unpinned, or the last pin dropped. The first of the span
  /// is meant to leave first; callers pass a chain's tail before its head, so that the tail dies
  /// first. A slot's contents are those it was stored with. Precondition: none of them is evictable
  /// already.
  virtual void add(SlotSpan slots, const Access& access) = 0;

  /// A look-up used `slots`, all of them evictable, without pinning them. Order as in add().
  virtual void touch(SlotSpan slots, const Access& access) = 0;

  /// `slots` stopped being evictable other than by pop_victims(). Precondition: they are evictable.
  virtual void remove(SlotSpan slots, RemoveCause cause) = 0;

  /// Names the next victims, the first to leave first, and forgets them; their contents are still
  /// those that leave. `incoming` are the blocks that take their places, one each, in order; empty
  /// where they have no names yet, else none of them is kNoBlock. Precondition: as many slots are
  /// evictable (the tier counts). Only a policy that needs the future answers kNoSlot, where
  /// incoming[i] is worth less than all.
  virtual void pop_victims(std::span<SlotId> out, BlockSpan incoming, const Access& access) = 0;

  /// From now on slot ids are below `slots` and block ids below `blocks`, each at least what it
  /// was; the order of slots is unchanged.
  virtual void grow(std::uint32_t slots, std::uint32_t blocks) = 0;

  /// True where the tier has to call the next two; asked once. Most policies live without.
  virtual bool wants_chains() const { return false; }
  /// A request looks for `chain`, root first, before it uses or brings any of it; once a request.
  virtual void on_lookup(BlockSpan /*chain*/, const Access&) {}
  /// A request is about to release `chain`, which may go on where its prompt ended.
  virtual void on_release(BlockSpan /*chain*/, const Access&) {}
  /// The chain of a request that goes on running has grown: where blocks of running requests are
  /// evictable, its end has moved.
  virtual void on_growth(BlockSpan /*chain*/, const Access&) {}

  /// Which part of a new chain of `blocks` blocks goes below at once, as more than its session may
  /// hold here. Asked only where running requests may hold blocks below.
  virtual BlockRange excess_of(std::uint64_t blocks) const { return {blocks, blocks}; }

  /// True where popping n victims and then adding their n successors leaves the same order as
  /// taking turns, as long as n slots are evictable: the tier then does so a run at a time. So it
  /// is where a newcomer never leaves before what was evictable when it came (lru, fifo; not lfu).
  /// A slot may be named again for a later newcomer, which pushes out the earlier.
  virtual bool pops_ahead() const { return false; }

  /// True where the policy can tell its order of victims without changing it, through after().
  virtual bool tells_order() const { return false; }
  /// The slot that would leave after `slot`, an evictable one (kNoSlot: the first to leave);
  /// kNoSlot behind the last.
  virtual SlotId after(SlotId /*slot*/) const { return kNoSlot; }
  /// True where the policy orders all that the tier holds, what is being written or read too, and
  /// is asked for more than the tier holds; asked once. The tier then calls insert() and
  /// touch_all(), and touch() never; add() says of a slot once more that it is evictable, and
  /// remove(kPinned) that it is not, without a change of its place. In a tier that knows nothing of
  /// this the policy still answers the calls above.
  virtual bool orders_all() const { return false; }
  /// `slot` holds a block that is being written from now on.
  virtual void insert(SlotId /*slot*/) {}
  /// A request looked for `blocks`, the first to count as used first; slots[i] is where blocks[i]
  /// is, or kNoSlot. True where the same call once more would change something again.
  virtual bool touch_all(BlockSpan /*blocks*/, SlotSpan /*slots*/) { return false; }
  /// pop_victims(), or false with nothing changed where the policy names fewer than are evictable.
  virtual bool try_pop_victims(std::span<SlotId> out, BlockSpan incoming, const Access& access) {
    pop_victims(out, incoming, access);
    return true;
  }

  SlotId pop_victim(const Access& access) {
    SlotId victim{};
    pop_victims({&victim, 1}, {}, access);
    return victim;
  }
};

}  // namespace spillway
