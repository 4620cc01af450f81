// Least recently used among leaves: only a block without a resident child leaves, as SGLang's radix
// cache evicts (python/sglang/srt/mem_cache/radix_cache.py: a heap of unlocked leaves by last
// access, into which a parent enters once its last child on the device is gone).
//
// Where every use runs through a whole chain and touches the tail first, plain LRU never names
// another, and the two agree; they part where heads are touched before tails, where a chain is used
// in part, and where tails are pinned.
//
// Model: whole blocks, not radix nodes. SGLang refuses where no leaf is evictable; a tier that asks
// here has to get a slot, so the least recently used of the others leaves. A child counts from its
// first add(), so one that is still being written does not protect its parent. Memory: 28 bytes a
// slot, 16 more where one was put aside, 12 a block.
#include <memory>

#include "policies/catalogue.hpp"
#include "policies/containers/leaf_queue.hpp"

namespace spillway {

namespace {

class LeafLru final : public EvictionPolicy {
 public:
  explicit LeafLru(const EvictionContext& context)
      : contents_(*context.contents), queue_(kLevels, context.slots, context.blocks) {}

  bool wants_chains() const override { return true; }
  void on_lookup(BlockSpan chain, const Access&) override { queue_.learn(chain); }
  void on_release(BlockSpan chain, const Access&) override { queue_.learn(chain); }

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      const BlockId block = contents_[slot];
      queue_.push(slot, block, block == kNoBlock ? kUnnamed : kNamed);
    }
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) {
      queue_.renew(slot, contents_[slot] == kNoBlock ? kUnnamed : kNamed);
    }
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      queue_.withdraw(slot);
      if (cause == RemoveCause::kInvalidated) queue_.forget(slot);
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) victim = queue_.pop();
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override { queue_.grow(slots, blocks); }

 private:
  enum Level : std::uint32_t { kUnnamed, kNamed, kLevels };

  const SlotContents& contents_;
  LeafQueue queue_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_leaf_lru(const EvictionContext& context, const Params&,
                                              const SourceRef&) {
  return std::make_unique<LeafLru>(context);
}

}  // namespace spillway
