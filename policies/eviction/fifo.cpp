// First in, first out: age since the block was stored decides, whatever happens to it later.
//
// A slot that comes back from a pin keeps its age. New slots are appended to a list in order of
// age; the returned ones wait in a heap by age, and the victim is the older of the two fronts.
#include <limits>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/index_heap.hpp"
#include "policies/containers/index_list.hpp"

namespace spillway {

namespace {

class Fifo final : public EvictionPolicy {
 public:
  explicit Fifo(const EvictionContext& context)
      : fresh_(context.slots), returned_(context.slots), stored_(context.slots, kNever) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      std::uint64_t& stored = stored_[raw(slot)];
      if (stored == kNever) {
        stored = clock_++;
        fresh_.push_back(raw(slot));
      } else {
        returned_.push(raw(slot), stored);
      }
    }
  }
  void touch(SlotSpan, const Access&) override {}
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      if (fresh_.contains(raw(slot))) {
        fresh_.erase(raw(slot));
      } else {
        returned_.erase(raw(slot));
      }
      if (cause == RemoveCause::kInvalidated) stored_[raw(slot)] = kNever;
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) victim = pop();
  }
  bool pops_ahead() const override { return true; }
  void grow(std::uint32_t slots, std::uint32_t) override {
    fresh_.grow(slots);
    returned_.grow(slots);
    stored_.resize(slots, kNever);
  }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  SlotId pop() {
    const std::uint64_t oldest_fresh = fresh_.empty() ? kNever : stored_[fresh_.front()];
    std::uint32_t victim = 0;
    if (!returned_.empty() && returned_.front_key() < oldest_fresh) {
      victim = returned_.front();
      returned_.erase(victim);
    } else {
      victim = fresh_.front();
      fresh_.erase(victim);
    }
    stored_[victim] = kNever;
    return SlotId{victim};
  }

  IndexList fresh_;
  IndexHeap returned_;
  std::vector<std::uint64_t> stored_;  ///< when the slot's block was first added
  std::uint64_t clock_ = 0;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_fifo(const EvictionContext& context, const Params&,
                                          const SourceRef&) {
  return std::make_unique<Fifo>(context);
}

}  // namespace spillway
