// CLOCK: first in, first out, with another round for what was used since the hand last passed.
//
// F. J. Corbato, "A paging experiment with the Multics system", MIT Project MAC, 1968. The hand is
// the front of a queue that spared slots rejoin at the back. With more than one bit a slot counts
// its uses, up to what the bits hold, and each pass takes one (the generalised clock: A. J. Smith,
// "Sequentiality and prefetching in database systems", ACM TODS 3(3), 1978).
//
// A pinned slot keeps its place and counts as used when it comes back.
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/arrival_log.hpp"

namespace spillway {

namespace {

class Clock final : public EvictionPolicy {
 public:
  Clock(const EvictionContext& context, std::uint64_t bits)
      : queue_(context.slots),
        uses_(context.slots, 0),
        most_uses_(static_cast<std::uint8_t>((1U << bits) - 1)) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      if (queue_.holds(raw(slot))) {
        queue_.come_back(kOnly, raw(slot));
        use(slot);
      } else {
        queue_.push_back(kOnly, raw(slot));
        uses_[raw(slot)] = 0;
      }
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) use(slot);
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      if (cause == RemoveCause::kPinned) {
        queue_.leave(kOnly, raw(slot));
      } else {
        queue_.erase(kOnly, raw(slot));
      }
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) victim = pop();
  }
  void grow(std::uint32_t slots, std::uint32_t) override {
    queue_.grow(slots);
    uses_.resize(slots, 0);
  }

 private:
  static constexpr std::uint32_t kOnly = 0;

  void use(SlotId slot) {
    std::uint8_t& uses = uses_[raw(slot)];
    uses = static_cast<std::uint8_t>(uses + (uses < most_uses_ ? 1 : 0));
  }
  SlotId pop() {
    std::uint32_t slot = queue_.front(kOnly);
    for (; uses_[slot] > 0; slot = queue_.front(kOnly)) {
      --uses_[slot];
      queue_.front_to_back(kOnly, kOnly);
    }
    queue_.pop_front(kOnly);
    return SlotId{slot};
  }

  ArrivalLog<1> queue_;
  std::vector<std::uint8_t> uses_;  ///< since the hand last passed, by slot
  std::uint8_t most_uses_;
};

}  // namespace

extern const ParamSpec kClockParams[1];
const ParamSpec kClockParams[1] = {
    {"bits", "bits of each block's use counter", 1, 1, 8, ParamSpec::Kind::kWhole},
};

std::unique_ptr<EvictionPolicy> make_clock(const EvictionContext& context, const Params& params,
                                           const SourceRef&) {
  return std::make_unique<Clock>(context, params.whole("bits"));
}

}  // namespace spillway
