// Mooncake's length-aware cache (Qin et al., "Mooncake: A KVCache-centric Disaggregated
// Architecture for LLM Serving", arXiv 2407.00079, section 4.2): like LFU, but what stands later in
// requests leaves first.
//
// The paper says little more, in words that can be read either way. Here the least used leaves
// first; among equals the farthest from its chain's root, then the least recently used. Counts are
// those of the present stay and survive pins; a use that only shares a pinned block is not seen.
//
// Memory: 24 bytes a slot, 4 a block.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/block_depths.hpp"
#include "policies/containers/keyed_heap.hpp"

namespace spillway {

namespace {

class LengthAware final : public EvictionPolicy {
 public:
  explicit LengthAware(const EvictionContext& context)
      : contents_(*context.contents),
        depths_(context.blocks),
        order_(context.slots),
        uses_(context.slots) {}

  bool wants_chains() const override { return true; }
  void on_lookup(BlockSpan chain, const Access&) override { depths_.learn(chain); }
  void on_release(BlockSpan chain, const Access&) override { depths_.learn(chain); }

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) order_.push({used(slot), raw(slot)});
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) order_.set({used(slot), raw(slot)});
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      order_.erase(raw(slot));
      if (cause == RemoveCause::kInvalidated) uses_[raw(slot)] = 0;
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      victim = SlotId{order_.pop().id};
      uses_[raw(victim)] = 0;
    }
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    depths_.grow(blocks);
    order_.grow(slots);
    uses_.resize(slots);
  }

 private:
  // A key in one word: uses, nearness to the root, time of use. Beyond 4,095 uses or 65,535 blocks
  // of one chain the next part decides; 2^36 uses take hours.
  static constexpr std::uint64_t kMostUses = (1 << 12) - 1;
  static constexpr std::uint64_t kMostDepth = (1 << 16) - 1;
  static constexpr int kUsesShift = 52;
  static constexpr int kDepthShift = 36;

  struct Item {
    std::uint64_t key = 0;
    std::uint32_t id = 0;  ///< slot
    bool operator<(const Item& other) const { return key < other.key; }
  };

  /// The key of `slot` after one more use.
  std::uint64_t used(SlotId slot) {
    const BlockId block = contents_[slot];
    const std::uint64_t now = clock_++;
    if (block == kNoBlock) return now;
    const std::uint64_t uses = std::min<std::uint64_t>(++uses_[raw(slot)], kMostUses);
    const std::uint64_t depth = std::min<std::uint64_t>(depths_[block], kMostDepth);
    return (uses << kUsesShift) | ((kMostDepth - depth) << kDepthShift) | now;
  }

  const SlotContents& contents_;
  BlockDepths depths_;
  KeyedHeap<Item> order_;
  std::vector<std::uint32_t> uses_;  ///< of the present stay
  std::uint64_t clock_ = 0;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_length_aware(const EvictionContext& context, const Params&,
                                                  const SourceRef&) {
  return std::make_unique<LengthAware>(context);
}

}  // namespace spillway
