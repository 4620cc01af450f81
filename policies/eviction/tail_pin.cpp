// Tail-pin: the blocks with a session's last tokens are not chosen before the session looks up its
// next chain, or has not been seen for a time to live.
//
// The rule is an operators' one, without a paper: decode reads the tail at every step and the next
// turn begins there, yet LRU lets a chain's tail die first. A session's tail is the end of the
// chain it last looked for or released. When all that is evictable belongs to tails, the tail used
// longest ago gives way first. No more tail blocks are remembered than the tier has places: beyond
// that, the session seen longest ago is given up.
#include "policies/containers/session_tails.hpp"
#include "policies/eviction/hold_back.hpp"
#include "policies/eviction/layers.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

class TailPin final : public HoldBack {
 public:
  TailPin(std::unique_ptr<EvictionPolicy> base, const EvictionContext& context,
          std::uint64_t tail_blocks, Duration ttl)
      : HoldBack(std::move(base), context),
        tail_blocks_(tail_blocks),
        capacity_(context.capacity),
        ttl_(ttl),
        requests_(*context.requests),
        tails_(requests_.sessions) {
    tails_.reserve(most_blocks(context.slots));
  }

  BlockRange excess_of(std::uint64_t blocks) const override {
    return excess_within(0, blocks - std::min(tail_blocks_, blocks));
  }

 private:
  void hear(BlockSpan chain, const Access& access) override {
    expire(access.now);
    const BlockSpan tail = chain.last(std::min<std::uint64_t>(tail_blocks_, chain.size()));
    for (std::size_t i = tail.size(); i-- > 0;) claim(tail[i], access);
    tails_.replace(requests_.session[access.request], access.now, tail,
                   [&](BlockId block) { unclaim_used(block, access); });
    while (tails_.blocks() > capacity_) give_up_oldest();
  }
  void expire(Time now) override {
    if (ttl_ == Duration::zero()) return;
    while (!tails_.empty() && tails_.oldest_seen() + ttl_ <= now) give_up_oldest();
  }
  void grow_further(std::uint32_t slots, std::uint32_t) override {
    tails_.reserve(most_blocks(slots));
  }

  void give_up_oldest() {
    tails_.erase(tails_.oldest(), [this](BlockId block) { unclaim(block); });
  }
  /// A session's next tail is there before its last one leaves, and before another is given up.
  std::uint64_t most_blocks(std::uint32_t slots) const {
    return std::min<std::uint64_t>(slots, capacity_) +
           2 * std::min<std::uint64_t>(slots, tail_blocks_);
  }

  std::uint64_t tail_blocks_;
  std::uint64_t capacity_;
  Duration ttl_;
  const RequestFacts& requests_;
  SessionTails tails_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> tail_pin_over(std::unique_ptr<EvictionPolicy> base,
                                              const EvictionContext& context,
                                              std::uint64_t tail_blocks, Duration ttl) {
  KV_ASSERT(context.requests != nullptr, "sessions of no requests");
  if (tail_blocks == 0) return base;
  return std::make_unique<TailPin>(std::move(base), context, tail_blocks, ttl);
}

extern const ParamSpec kTailPinParams[3];
const ParamSpec kTailPinParams[3] = {kTailTokens, kTtl, kOver};

std::unique_ptr<EvictionPolicy> make_tail_pin(const EvictionContext& context, const Params& params,
                                              const SourceRef& where) {
  const Reserved reserved = reserve("tail-pin", kTailPinParams, params, context, where);
  return tail_pin_over(make_base(params, context, where), context, reserved.tail, ttl_of(params));
}

}  // namespace spillway
