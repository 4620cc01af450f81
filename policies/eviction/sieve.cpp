// SIEVE: a hand moves from the oldest to the newest; it evicts what was not used since it last
// passed and spares the rest where it stands, so that newcomers are sifted before old favourites.
//
// Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi, "SIEVE is Simpler than LRU: an Efficient
// Turn-Key Eviction Algorithm for Web Caches", NSDI '24, algorithm 1. From the newest the hand goes
// back to the oldest.
//
// A pinned slot keeps its place, the hand passes it by, and it counts as used when it comes back.
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/arrival_log.hpp"

namespace spillway {

namespace {

class Sieve final : public EvictionPolicy {
 public:
  explicit Sieve(const EvictionContext& context)
      : queue_(context.slots), visited_(context.slots, 0) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      const bool known = queue_.holds(raw(slot));
      if (known) {
        queue_.come_back(kOnly, raw(slot));
      } else {
        queue_.push_back(kOnly, raw(slot));
      }
      visited_[raw(slot)] = known ? 1 : 0;
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) visited_[raw(slot)] = 1;
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
    visited_.resize(slots, 0);
  }

 private:
  static constexpr std::uint32_t kOnly = 0;

  SlotId pop() {
    std::uint32_t slot = queue_.at_hand(kOnly);
    for (; visited_[slot] != 0; slot = queue_.at_hand(kOnly)) {
      visited_[slot] = 0;
      queue_.advance_hand();
    }
    queue_.pop_at_hand(kOnly);
    return SlotId{slot};
  }

  ArrivalLog<1> queue_;
  std::vector<std::uint8_t> visited_;  ///< by slot: used since it came or the hand passed
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_sieve(const EvictionContext& context, const Params&,
                                           const SourceRef&) {
  return std::make_unique<Sieve>(context);
}

}  // namespace spillway
