// S3-FIFO: a small queue that most newcomers leave unused, a main queue that gives what is used
// another round, and a ghost queue of names that lets what left the small queue too early into main
// at once.
//
// J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi, "FIFO Queues are All You Need for Cache
// Eviction", SOSP '23, algorithm 1. Where the paper leaves a choice this does as the authors' own
// simulator (libCacheSim): main gives the victim when it holds more than its share, else small; a
// block starts again at no uses when it moves to main; a name leaves the ghost queue when it comes
// back.
//
// A pinned slot keeps its place and its queue, and counts as used when it comes back.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/arrival_log.hpp"
#include "policies/containers/ghost_list.hpp"

namespace spillway {

namespace {

struct Shares {
  std::uint64_t small = 1;
  std::uint64_t ghost = 0;
  std::uint8_t promote = 2;
  std::uint8_t cap = 3;
};

class S3Fifo final : public EvictionPolicy {
 public:
  S3Fifo(const EvictionContext& context, const Shares& shares)
      : contents_(*context.contents),
        shares_(shares),
        main_share_(context.capacity - shares.small),
        queues_(context.slots),
        slots_(context.slots),
        ghosts_(shares.ghost, context.blocks) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      Slot& state = slots_[raw(slot)];
      if (queues_.holds(raw(slot))) {
        queues_.come_back(state.queue(), raw(slot));
        use(state);
      } else {
        state = {0, was_ghost(contents_[slot])};
        queues_.push_back(state.queue(), raw(slot));
        ++held_[state.queue()];
      }
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) use(slots_[raw(slot)]);
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      if (cause == RemoveCause::kPinned) {
        queues_.leave(slots_[raw(slot)].queue(), raw(slot));
      } else {
        const std::uint32_t queue = slots_[raw(slot)].queue();
        queues_.erase(queue, raw(slot));
        --held_[queue];
      }
    }
  }
  /// What comes back from the ghosts gives its place there up before the victims need one.
  void pop_victims(std::span<SlotId> out, BlockSpan incoming, const Access&) override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i < incoming.size()) ghosts_.recall(incoming[i]);
      out[i] = pop();
    }
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    queues_.grow(slots);
    slots_.reserve(slots);  // exactly, as the log does
    slots_.resize(slots);
    ghosts_.grow(blocks);
  }

 private:
  static constexpr std::uint32_t kSmall = 0;
  static constexpr std::uint32_t kMain = 1;
  struct Slot {
    std::uint8_t uses : 7 = 0;
    bool in_main : 1 = false;
    std::uint32_t queue() const { return in_main ? kMain : kSmall; }
  };

  void use(Slot& state) const {
    if (state.uses < shares_.cap) ++state.uses;
  }
  bool was_ghost(BlockId block) { return block != kNoBlock && ghosts_.take(block); }
  /// The queue over its share gives a victim, the other one where all of that is pinned or spared.
  SlotId pop() {
    while (true) {
      const bool main_first = held_[kMain] > main_share_ && !queues_.empty(kMain);
      const SlotId victim = main_first || queues_.empty(kSmall) ? pop_main() : pop_small();
      if (victim != kNoSlot) return victim;
    }
  }
  /// kNoSlot where all of it moved to main.
  SlotId pop_small() {
    while (!queues_.empty(kSmall)) {
      const std::uint32_t slot = queues_.front(kSmall);
      if (slots_[slot].uses < shares_.promote) {
        queues_.pop_front(kSmall);
        --held_[kSmall];
        if (contents_[SlotId{slot}] != kNoBlock) ghosts_.push(contents_[SlotId{slot}]);
        return SlotId{slot};
      }
      queues_.front_to_back(kSmall, kMain);
      slots_[slot] = {0, true};
      --held_[kSmall];
      ++held_[kMain];
    }
    return kNoSlot;
  }
  SlotId pop_main() {
    std::uint32_t slot = queues_.front(kMain);
    for (; slots_[slot].uses > 0; slot = queues_.front(kMain)) {
      --slots_[slot].uses;
      queues_.front_to_back(kMain, kMain);
    }
    queues_.pop_front(kMain);
    --held_[kMain];
    return SlotId{slot};
  }

  const SlotContents& contents_;
  Shares shares_;
  std::uint64_t main_share_;
  ArrivalLog<2> queues_;
  std::vector<Slot> slots_;
  std::uint64_t held_[2] = {0, 0};  ///< slots of each queue, pinned ones too
  GhostList ghosts_;
};

}  // namespace

extern const ParamSpec kS3FifoParams[4];
const ParamSpec kS3FifoParams[4] = {
    {"small", "share of the capacity that is the small queue's", 0.1, 0, 1},
    {"ghost", "names remembered, as a share of the capacity", 0.9, 0, 100},
    {"promote", "uses from which a block moves from small to main", 2, 1, 127,
     ParamSpec::Kind::kWhole},
    {"cap", "most uses that count, at least promote", 3, 1, 127, ParamSpec::Kind::kWhole},
};

std::unique_ptr<EvictionPolicy> make_s3fifo(const EvictionContext& context, const Params& params,
                                            const SourceRef& where) {
  constexpr double kMostBlocks = 4294967295.0;  // ids have 32 bits
  const auto share_of = [&](std::string_view name) {
    const double blocks = static_cast<double>(context.capacity) * params.real(name);
    return static_cast<std::uint64_t>(std::min(blocks, kMostBlocks));
  };
  Shares shares;
  shares.small = std::clamp<std::uint64_t>(share_of("small"), 1, context.capacity);
  shares.ghost = share_of("ghost");
  shares.promote = static_cast<std::uint8_t>(params.whole("promote"));
  shares.cap = static_cast<std::uint8_t>(params.whole("cap"));
  if (shares.cap < shares.promote) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("s3fifo: expected cap to be at least promote ({}), found {}",
                                 shares.promote, shares.cap));
  }
  return std::make_unique<S3Fifo>(context, shares);
}

}  // namespace spillway
