// The contract of an eviction policy: which block leaves a tier next.
//
// A policy orders the *evictable* slots of one tier; a pinned slot is not here (SQLite's rule: a
// page is pinned exactly when it is not on the LRU list). It sees slots, never the tier: a slot is
// a place that holds one block until pop_victims() names it or remove() withdraws it. Slots, not
// block ids, index a policy's state, so that its memory follows the tier's size and a loop over a
// small tier stays in cache.
#pragma once

#include <cstdint>
#include <span>

#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace spillway {

/// Who asks, and when.
struct Access {
  Time now{};
  RequestId request{};
};

enum class RemoveCause : std::uint8_t {
  kPinned,       ///< in use; it will be added again while it holds the same block
  kInvalidated,  ///< its block is gone
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  /// `slots` became evictable: stored and unpinned, or the last pin dropped. The first of the span
  /// is meant to leave first; callers pass a chain's tail before its head, so that the tail dies
  /// first. Precondition: none of them is evictable already.
  virtual void add(SlotSpan slots, const Access& access) = 0;

  /// A look-up used `slots`, all of them evictable, without pinning them. Order as in add().
  virtual void touch(SlotSpan slots, const Access& access) = 0;

  /// `slots` stopped being evictable other than by pop_victims(). Precondition: they are evictable.
  virtual void remove(SlotSpan slots, RemoveCause cause) = 0;

  /// Names the next victims, the first to leave first, and forgets them. Precondition: as many
  /// slots are evictable (the tier counts).
  virtual void pop_victims(std::span<SlotId> out, Time now) = 0;

  /// From now on slot ids are below `slots`, which is more than before; their order is unchanged.
  virtual void grow(std::uint32_t slots) = 0;

  SlotId pop_victim(Time now) {
    SlotId victim{};
    pop_victims({&victim, 1}, now);
    return victim;
  }
};

}  // namespace spillway
