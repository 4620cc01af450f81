// W-TinyLFU: G. Einziger, R. Friedman and B. Manes, "TinyLFU: A Highly Efficient Cache Admission
// Policy", ACM Transactions on Storage 13(4), 2017.
//
// A newcomer enters a small LRU window. What the window pushes out stays only if it was used more
// often lately, by a sketch of all blocks that ever came, than the victim of the main part, a
// segmented LRU: a block enters it on probation, a use there protects it, and what the protected
// part pushes out is on probation again. There is no doorkeeper before the sketch.
//
// Where a tier differs from the paper's cache: the newcomer's place is taken before it is here, so
// that the window's oldest is judged when a newcomer is about to fill the window; slots that are on
// their way count as in the window. A slot that comes back from a pin counts as used. Blocks
// without a name are not counted and leave first.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/frequency_sketch.hpp"
#include "policies/containers/tagged_lists.hpp"

namespace spillway {

namespace {

/// The sketch grows with the slots, from no less than this.
constexpr std::uint32_t kLeastSketch = 1024;
/// Larger capacities age as this one does; none fills within a trace.
constexpr std::uint64_t kMostAgeing = std::uint64_t{1} << 40;

std::uint64_t share_of(double share, std::uint64_t blocks) {
  return static_cast<std::uint64_t>(share * static_cast<double>(blocks) + 0.5);
}

class Wtinylfu final : public EvictionPolicy {
 public:
  Wtinylfu(const EvictionContext& context, const Params& params)
      : contents_(*context.contents),
        capacity_(context.capacity),
        window_(
            std::clamp<std::uint64_t>(share_of(params.real("window"), capacity_), 1, capacity_)),
        protected_(share_of(params.real("protected"), capacity_ - window_)),
        lists_(context.slots),
        returns_to_(context.slots, kNowhere),
        sketch_(std::max(context.slots, kLeastSketch),
                params.whole("sample") * std::min(capacity_, kMostAgeing)) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      std::uint8_t& returns_to = returns_to_[raw(slot)];
      if (returns_to == kNowhere) ++held_;
      const BlockId block = contents_[slot];
      if (block == kNoBlock) {
        lists_.push_back(kNameless, raw(slot));
      } else {
        sketch_.use(raw(block));
        enter(slot, returns_to == kNowhere ? std::uint8_t{kWindow} : returns_to);
      }
      returns_to = kNowhere;
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      const std::uint8_t list = lists_.list_of(raw(slot));
      if (list == kNameless) continue;
      sketch_.use(raw(contents_[slot]));
      lists_.erase(raw(slot));
      enter(slot, after_use(list));
    }
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      const std::uint8_t list = lists_.list_of(raw(slot));
      lists_.erase(raw(slot));
      if (cause == RemoveCause::kPinned) {
        returns_to_[raw(slot)] = list == kNameless ? kWindow : after_use(list);
      } else {
        --held_;
      }
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      victim = pop();
      --held_;
    }
  }
  void grow(std::uint32_t slots, std::uint32_t) override {
    lists_.grow(slots);
    returns_to_.resize(slots, kNowhere);
    sketch_.grow(slots);
  }

 private:
  enum List : std::uint8_t { kWindow, kProbation, kProtected, kNameless, kNowhere };

  static List after_use(std::uint8_t list) { return list == kWindow ? kWindow : kProtected; }

  /// As the most recent of a list; what a full one pushes out is on probation.
  void enter(SlotId slot, std::uint8_t list) {
    lists_.push_back(list, raw(slot));
    const std::uint64_t most = list == kWindow ? window_ : protected_;
    if (lists_.size(list) > most) lists_.push_back(kProbation, lists_.pop_front(list));
  }

  SlotId pop() {
    if (!lists_.empty(kNameless)) return SlotId{lists_.pop_front(kNameless)};
    const List main = lists_.empty(kProbation) ? kProtected : kProbation;
    if (lists_.empty(main)) return SlotId{lists_.pop_front(kWindow)};
    const std::uint64_t coming = capacity_ - std::min(held_, capacity_);
    if (lists_.empty(kWindow) || lists_.size(kWindow) + coming < window_) {
      return SlotId{lists_.pop_front(main)};
    }
    const std::uint32_t candidate = lists_.pop_front(kWindow);
    if (uses(candidate) <= uses(lists_.front(main))) return SlotId{candidate};
    const SlotId victim{lists_.pop_front(main)};
    lists_.push_back(kProbation, candidate);
    return victim;
  }
  std::uint32_t uses(std::uint32_t slot) const {
    return sketch_.count(raw(contents_[SlotId{slot}]));
  }

  const SlotContents& contents_;
  std::uint64_t capacity_;
  std::uint64_t window_;                  ///< most blocks of the window
  std::uint64_t protected_;               ///< most protected blocks
  TaggedLists<4> lists_;                  ///< slots by List, least recent first
  std::vector<std::uint8_t> returns_to_;  ///< by slot: the list a pinned one comes back to
  FrequencySketch sketch_;
  std::uint64_t held_ = 0;  ///< slots here or pinned
};

}  // namespace

extern const ParamSpec kWtinylfuParams[3];
const ParamSpec kWtinylfuParams[3] = {
    {"window", "share of the tier that newcomers pass through, one block at least", 0.01, 0, 1},
    {"protected", "share of the main part for blocks used again", 0.8, 0, 1},
    {"sample", "uses, in capacities, after which all counts are halved", 10, 1, 1000,
     ParamSpec::Kind::kWhole},
};

std::unique_ptr<EvictionPolicy> make_wtinylfu(const EvictionContext& context, const Params& params,
                                              const SourceRef&) {
  return std::make_unique<Wtinylfu>(context, params);
}

}  // namespace spillway
