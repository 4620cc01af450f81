// GreedyDual-Size-Frequency over the cost of computing a block again (Cao and Irani, "Cost-Aware
// WWW Proxy Caching Algorithms", USITS 1997; Cherkasova, "Improving WWW Proxies Performance with
// Greedy-Dual-Size-Frequency Caching Policy", HP Labs HPL-98-69R1, 1998): the worth of a block is
// clock + uses * cost / size, the least worth leaves, and the clock becomes its worth, so that what
// is not used ages against what is. Ties leave by age of the last use.
//
// A token costs `token_cost` for the weights and `context_cost` for each token before it, so a
// block costs more the later it stands: its mean token has depth * block_tokens + (block_tokens -
// 1) / 2 tokens before it. All blocks of a tier are equally large, hence cost / size is the cost of
// that mean token. The defaults count floating-point operations of Llama-3.1-8B, in units of its 2
// * 8.03e9 a token: attention adds 4 * 32 layers * 4,096 = 524,288 for each token before,
// or 3.3e-5.
//
// Model: the cost is that of the block alone; that a hit behind a hole is worth nothing is not in
// it. Memory: 24 bytes a slot, 4 a block.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/block_depths.hpp"
#include "policies/containers/keyed_heap.hpp"

namespace spillway {

namespace {

struct RecomputeCost {
  double first_block = 0;  ///< of the mean token of a chain's first block
  double per_depth = 0;    ///< more for each block before
};

class CostAware final : public EvictionPolicy {
 public:
  CostAware(const EvictionContext& context, const RecomputeCost& cost)
      : contents_(*context.contents),
        cost_(cost),
        depths_(context.blocks),
        order_(context.slots),
        uses_(context.slots) {}

  bool wants_chains() const override { return true; }
  void on_lookup(BlockSpan chain, const Access&) override { depths_.learn(chain); }
  void on_release(BlockSpan chain, const Access&) override { depths_.learn(chain); }

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) order_.push(used(slot));
  }
  void touch(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) order_.set(used(slot));
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      order_.erase(raw(slot));
      if (cause == RemoveCause::kInvalidated) uses_[raw(slot)] = 0;
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      const Item least = order_.pop();
      if (least.rank != kNothing) clock_ = std::max(clock_, worth_of(least.rank));
      uses_[least.id] = 0;
      victim = SlotId{least.id};
    }
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    depths_.grow(blocks);
    order_.grow(slots);
    uses_.resize(slots);
  }

 private:
  /// The bits of a double that is not negative compare as it does, and faster. Rank 0 is below any
  /// worth: that of a block without a name.
  static constexpr std::uint64_t kNothing = 0;
  static std::uint64_t rank_of(double worth) { return std::bit_cast<std::uint64_t>(worth) + 1; }
  static double worth_of(std::uint64_t rank) { return std::bit_cast<double>(rank - 1); }

  struct Item {
    std::uint64_t rank = 0;
    std::uint32_t last_use = 0;  ///< begins again after 2^32 uses: matters among equals only
    std::uint32_t id = 0;        ///< slot
    bool operator<(const Item& other) const {
      // Without a branch that nobody can predict.
      return (rank < other.rank) | ((rank == other.rank) & (last_use < other.last_use));
    }
  };

  /// `slot` after one more use.
  Item used(SlotId slot) {
    const BlockId block = contents_[slot];
    const std::uint32_t now = clock_of_uses_++;
    if (block == kNoBlock) return {kNothing, now, raw(slot)};
    const double uses = ++uses_[raw(slot)];
    const double cost = cost_.first_block + cost_.per_depth * depths_[block];
    return {rank_of(clock_ + uses * cost), now, raw(slot)};
  }

  const SlotContents& contents_;
  RecomputeCost cost_;
  BlockDepths depths_;
  KeyedHeap<Item> order_;
  std::vector<std::uint32_t> uses_;  ///< of the present stay
  double clock_ = 0;
  std::uint32_t clock_of_uses_ = 0;
};

}  // namespace

extern const ParamSpec kCostAwareParams[2];
const ParamSpec kCostAwareParams[2] = {
    {"token_cost", "cost of computing a token without context", 1, 0, 1e9},
    {"context_cost", "what each token before it adds", 3.3e-5, 0, 1e9},
};

std::unique_ptr<EvictionPolicy> make_cost_aware(const EvictionContext& context,
                                                const Params& params, const SourceRef&) {
  const double context_cost = params.real("context_cost");
  RecomputeCost cost;
  cost.first_block = params.real("token_cost") + context_cost * (context.block_tokens - 1) / 2;
  cost.per_depth = context_cost * context.block_tokens;
  return std::make_unique<CostAware>(context, cost);
}

}  // namespace spillway
