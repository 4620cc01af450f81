// Least frequently used, counted while a block is in the tier: the count is lost when it leaves and
// never ages. Among equals the one that came to its count first leaves first, which is the least
// recently used of them. A newcomer has a count of one, and its victim is chosen before it enters.
//
// The groups of one count in a list: K. Shah, A. Mitra, D. Matani, "An O(1) algorithm for
// implementing the LFU cache eviction scheme", 2010.
//
// A pinned slot keeps its count and comes back with one more. A slot without a block's name is
// worth less than any that was used: its count is none.
#include <memory>

#include "policies/catalogue.hpp"
#include "policies/containers/frequency_list.hpp"

namespace spillway {

namespace {

class Lfu final : public EvictionPolicy {
 public:
  explicit Lfu(const EvictionContext& context)
      : contents_(*context.contents), order_(context.slots) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      const bool named = contents_[slot] != kNoBlock;
      order_.insert(raw(slot), named ? order_.next_count(raw(slot)) : 0);
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) order_.use(raw(slot));
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      if (cause == RemoveCause::kPinned) {
        order_.erase(raw(slot));
      } else {
        order_.forget(raw(slot));
      }
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      victim = SlotId{order_.front()};
      order_.forget(raw(victim));
    }
  }
  void grow(std::uint32_t slots, std::uint32_t) override { order_.grow(slots); }

 private:
  const SlotContents& contents_;
  FrequencyList order_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_lfu(const EvictionContext& context, const Params&,
                                         const SourceRef&) {
  return std::make_unique<Lfu>(context);
}

}  // namespace spillway
