// Segmented LRU: LRU lists in tiers of equal size. A newcomer enters the lowest segment with room,
// a use moves a block to the front of the segment above, and what that pushes out of a full one
// drops to the front of the one below. The oldest of the lowest segment that has any leaves first.
//
// R. Karedla, J. S. Love, B. G. Wherry, "Caching strategies to improve disk system performance",
// IEEE Computer 27(3), 1994, with two segments; S4LRU, with four: Q. Huang et al., "An Analysis of
// Facebook Photo Caching", SOSP '13. Like libCacheSim's default this has four, and fills them from
// the lowest up while the cache is not full. The lowest takes what the others' equal shares leave.
//
// A pinned slot leaves its segment and comes back as used: one segment up.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/index_lists.hpp"

namespace spillway {

namespace {

class Slru final : public EvictionPolicy {
 public:
  Slru(const EvictionContext& context, std::uint32_t segments)
      : lists_(segments, context.slots), held_(segments, 0), segment_(context.slots, kNone) {
    share_ = std::max<std::uint64_t>(1, context.capacity / segments);
    const std::uint64_t above = share_ * (segments - 1);
    lowest_share_ = std::max(share_, context.capacity - std::min(above, context.capacity));
  }

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      const std::uint8_t before = segment_[raw(slot)];
      enter(slot, before == kNone ? lowest_with_room() : above(before));
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      leave(slot);
      enter(slot, above(segment_[raw(slot)]));
    }
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      leave(slot);
      if (cause == RemoveCause::kInvalidated) segment_[raw(slot)] = kNone;
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      std::uint32_t lowest = 0;
      while (lists_.empty(lowest)) ++lowest;
      victim = SlotId{lists_.front(lowest)};
      leave(victim);
      segment_[raw(victim)] = kNone;
    }
  }
  void grow(std::uint32_t slots, std::uint32_t) override {
    lists_.grow(slots);
    segment_.resize(slots, kNone);
  }

 private:
  static constexpr std::uint8_t kNone = 255;

  std::uint8_t above(std::uint8_t segment) const {
    return static_cast<std::uint8_t>(segment + (segment + 1U < held_.size() ? 1 : 0));
  }
  std::uint8_t lowest_with_room() const {
    if (held_[0] < lowest_share_) return 0;
    for (std::size_t i = 1; i < held_.size(); ++i) {
      if (held_[i] < share_) return static_cast<std::uint8_t>(i);
    }
    return 0;
  }
  void leave(SlotId slot) {
    lists_.erase(raw(slot));
    --held_[segment_[raw(slot)]];
  }
  /// Into a segment as its most recent; a full one passes its oldest down, as far as need be.
  void enter(SlotId slot, std::uint8_t segment) {
    place(slot, segment);
    for (; segment > 0 && held_[segment] > share_; --segment) {
      const SlotId oldest{lists_.front(segment)};
      leave(oldest);
      place(oldest, static_cast<std::uint8_t>(segment - 1));
    }
  }
  void place(SlotId slot, std::uint8_t segment) {
    lists_.push_back(segment, raw(slot));
    segment_[raw(slot)] = segment;
    ++held_[segment];
  }

  IndexLists lists_;
  std::vector<std::uint64_t> held_;    ///< by segment
  std::vector<std::uint8_t> segment_;  ///< by slot; of a pinned one, where it was
  std::uint64_t share_ = 0;            ///< of each segment but the lowest
  std::uint64_t lowest_share_ = 0;
};

}  // namespace

extern const ParamSpec kSlruParams[1];
const ParamSpec kSlruParams[1] = {
    {"segments", "LRU lists of equal size, one above another", 4, 1, 64, ParamSpec::Kind::kWhole},
};

std::unique_ptr<EvictionPolicy> make_slru(const EvictionContext& context, const Params& params,
                                          const SourceRef&) {
  return std::make_unique<Slru>(context, static_cast<std::uint32_t>(params.whole("segments")));
}

}  // namespace spillway
