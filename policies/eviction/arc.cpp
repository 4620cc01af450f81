// Adaptive replacement: N. Megiddo and D. S. Modha, "ARC: A Self-Tuning, Low Overhead Replacement
// Cache", FAST 2003, figure 4, with a real-valued target p.
//
// T1 holds what was used once, T2 what was used again; B1 and B2 remember as ghosts the blocks that
// left them. A newcomer that has a ghost enters T2 and moves p, the share of T1: up for a ghost in
// B1, down for one in B2. T1 and B1 together hold c blocks at most, all four lists 2c.
//
// Where a tier differs from the paper's cache: a slot that comes back from a pin counts as used
// again; only evictable slots are in T1 and T2, so that pinned ones do not count towards p; blocks
// without a name have no ghosts and leave first; a newcomer whose name is not known when it takes a
// place moves p when it is added.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/tagged_lists.hpp"

namespace spillway {

namespace {

class Arc final : public EvictionPolicy {
 public:
  explicit Arc(const EvictionContext& context)
      : contents_(*context.contents),
        capacity_(context.capacity),
        resident_(context.slots),
        returning_(context.slots, 0),
        ghosts_(context.blocks) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      resident_.push_back(entrance(slot), raw(slot));
      trim();
    }
  }
  /// Case I: a hit in the cache.
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      if (resident_.list_of(raw(slot)) != kNameless) resident_.move_to_back(kT2, raw(slot));
    }
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      resident_.erase(raw(slot));
      returning_[raw(slot)] = cause == RemoveCause::kPinned ? 1 : 0;
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan incoming, const Access&) override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      bool from_b2 = false;
      if (i < incoming.size() && has_ghost(incoming[i])) {
        const std::uint32_t block = raw(incoming[i]);
        from_b2 = ghosts_.list_of(block) == kB2;
        adapt(block);
        ghosts_.move_to_back(kAwaited, block);
      }
      out[i] = replace(from_b2);
    }
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    resident_.grow(slots);
    returning_.resize(slots, 0);
    ghosts_.grow(blocks);
  }

 private:
  enum Resident : std::uint8_t { kT1, kT2, kNameless };
  /// kAwaited: no ghost any more, on the way into T2.
  enum Ghost : std::uint8_t { kB1, kB2, kAwaited };

  bool has_ghost(BlockId block) const {
    return block != kNoBlock && ghosts_.list_of(raw(block)) <= kB2;
  }

  /// The list that a slot enters.
  Resident entrance(SlotId slot) {
    const BlockId block = contents_[slot];
    const bool returns = returning_[raw(slot)] != 0;
    returning_[raw(slot)] = 0;
    if (block == kNoBlock) return kNameless;
    if (returns) return kT2;
    if (ghosts_.list_of(raw(block)) == ghosts_.kNone) return kT1;
    if (has_ghost(block)) adapt(raw(block));
    ghosts_.erase(raw(block));
    return kT2;
  }

  /// Cases II and III: a hit in a ghost list moves p by one, or by more where that list is the
  /// shorter one.
  void adapt(std::uint32_t block) {
    const double b1 = ghosts_.size(kB1);
    const double b2 = ghosts_.size(kB2);
    if (ghosts_.list_of(block) == kB1) {
      p_ = std::min(static_cast<double>(capacity_), p_ + std::max(1.0, b2 / b1));
    } else {
      p_ = std::max(0.0, p_ - std::max(1.0, b1 / b2));
    }
  }

  /// REPLACE of the paper; the victim leaves a ghost.
  SlotId replace(bool from_b2) {
    if (!resident_.empty(kNameless)) return SlotId{resident_.pop_front(kNameless)};
    const double t1 = resident_.size(kT1);
    const bool once = t1 > 0 && (t1 > p_ || (from_b2 && t1 == p_) || resident_.empty(kT2));
    const SlotId victim{resident_.pop_front(once ? kT1 : kT2)};
    const std::uint32_t block = raw(contents_[victim]);
    if (contents_[victim] == kNoBlock) return victim;
    if (ghosts_.list_of(block) != ghosts_.kNone) ghosts_.erase(block);  // of another slot with it
    ghosts_.push_back(once ? kB1 : kB2, block);
    return victim;
  }

  /// Case IV, as what must hold once the newcomer is in: where T1 alone holds c, the victim's ghost
  /// goes at once.
  void trim() {
    if (recent() > capacity_ && !ghosts_.empty(kB1)) ghosts_.pop_front(kB1);
    const std::uint64_t again = std::uint64_t{resident_.size(kT2)} + ghosts_.size(kB2);
    if (recent() + again > 2 * capacity_ && !ghosts_.empty(kB2)) ghosts_.pop_front(kB2);
  }
  /// |L1| of the paper.
  std::uint64_t recent() const { return std::uint64_t{resident_.size(kT1)} + ghosts_.size(kB1); }

  const SlotContents& contents_;
  std::uint64_t capacity_;               ///< c
  double p_ = 0;                         ///< target size of T1
  TaggedLists<3> resident_;              ///< slots by Resident, least recent first
  std::vector<std::uint8_t> returning_;  ///< by slot: pinned, with the block it comes back with
  TaggedLists<3> ghosts_;                ///< blocks by Ghost, least recent first
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_arc(const EvictionContext& context, const Params&,
                                         const SourceRef&) {
  return std::make_unique<Arc>(context);
}

}  // namespace spillway
