// The eviction order of Mooncake Store (mooncake-store/src/master_service.cpp): looking an object
// up and using it renew its lease (10 s unless configured); what has no lease any more may leave,
// the first to have lost it first, which approximates LRU. Soft-pinned objects (30 minutes, renewed
// with the lease) are spared in a first pass and taken in a second.
//
// Which objects are soft-pinned is the client's choice, and no trace tells: the parameter pins the
// blocks whose first token is among the first `soft_pin_tokens` of their chain.
//
// Model: a store whose leases all run fails the put; a tier that asks here has to get a slot, so
// the block whose lease ends soonest leaves, soft-pinned or not. Victims are named one at a time
// where a store evicts 5% at its watermark: the same order, later. Leases granted at one instant
// end at one instant; among those a chain's tail leaves before its head.
//
// Memory: 16 bytes a slot, 8 a block.
#include <algorithm>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/block_depths.hpp"
#include "policies/containers/index_lists.hpp"
#include "policies/durations.hpp"

namespace spillway {

namespace {

struct LeaseTerms {
  Duration lease{};
  std::uint64_t soft_pin_blocks = 0;
  Duration soft_pin{};
};

class Lease final : public EvictionPolicy {
 public:
  Lease(const EvictionContext& context, const LeaseTerms& terms)
      : contents_(*context.contents),
        terms_(terms),
        order_(kLists, context.slots),
        granted_(context.slots),
        slot_of_(context.blocks, kNoSlot),
        depths_(context.blocks) {}

  bool wants_chains() const override { return true; }
  void on_lookup(BlockSpan chain, const Access& access) override {
    depths_.learn(chain);
    advance(access.now);
    for (std::size_t i = chain.size(); i-- > 0;) {
      const SlotId slot = slot_of_[raw(chain[i])];
      // What slot_of_ says may have left since, or be pinned.
      if (slot == kNoSlot || contents_[slot] != chain[i] || !order_.contains(raw(slot))) continue;
      order_.erase(raw(slot));
      grant(slot);
    }
  }
  void on_release(BlockSpan chain, const Access&) override { depths_.learn(chain); }

  void add(SlotSpan slots, const Access& access) override {
    advance(access.now);
    for (const SlotId slot : slots) grant(slot);
  }
  void touch(SlotSpan slots, const Access& access) override {
    advance(access.now);
    for (const SlotId slot : slots) {
      order_.erase(raw(slot));
      grant(slot);
    }
  }
  void remove(SlotSpan slots, RemoveCause) override {
    for (const SlotId slot : slots) order_.erase(raw(slot));
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access& access) override {
    advance(access.now);
    for (SlotId& victim : out) {
      victim = next();
      order_.erase(raw(victim));
    }
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    order_.grow(slots);
    granted_.resize(slots);
    slot_of_.resize(blocks, kNoSlot);
    depths_.grow(blocks);
  }

 private:
  /// All leases are equally long, and so are all soft pins: each list is in order of its leases.
  enum List : std::uint32_t {
    kUnnamed,  ///< worth nothing
    kPlain,
    kSoft,
    kLapsed,  ///< soft pins that are over
    kLists
  };

  void grant(SlotId slot) {
    const BlockId block = contents_[slot];
    granted_[raw(slot)] = now_;
    if (block == kNoBlock) {
      order_.push_back(kUnnamed, raw(slot));
      return;
    }
    slot_of_[raw(block)] = slot;
    order_.push_back(depths_[block] < terms_.soft_pin_blocks ? kSoft : kPlain, raw(slot));
  }
  void advance(Time now) {
    now_ = std::max(now_, now);
    while (!order_.empty(kSoft) && now_ - granted_[order_.front(kSoft)] >= terms_.soft_pin) {
      const std::uint32_t slot = order_.front(kSoft);
      order_.erase(slot);
      order_.push_back(kLapsed, slot);
    }
  }

  /// Precondition: a list is not empty.
  SlotId next() const {
    if (!order_.empty(kUnnamed)) return SlotId{order_.front(kUnnamed)};
    const SlotId plain = older(front(kPlain), front(kLapsed));
    const SlotId soft = front(kSoft);
    if (expired(plain)) return plain;
    if (expired(soft)) return soft;
    return older(plain, soft);
  }
  SlotId front(List list) const {
    return order_.empty(list) ? kNoSlot : SlotId{order_.front(list)};
  }
  bool expired(SlotId slot) const {
    return slot != kNoSlot && now_ - granted_[raw(slot)] >= terms_.lease;
  }
  SlotId older(SlotId a, SlotId b) const {
    if (a == kNoSlot) return b;
    if (b == kNoSlot) return a;
    return granted_[raw(b)] < granted_[raw(a)] ? b : a;
  }

  const SlotContents& contents_;
  LeaseTerms terms_;
  IndexLists order_;
  std::vector<Time> granted_;    ///< when the slot's lease was last renewed
  std::vector<SlotId> slot_of_;  ///< by block: the slot last granted a lease for it
  BlockDepths depths_;
  Time now_{};
};

}  // namespace

extern const ParamSpec kLeaseParams[3];
const ParamSpec kLeaseParams[3] = {
    {"lease_s", "length of the lease that a look-up or a use grants", 10, 0, 1e9},
    {"soft_pin_tokens", "blocks that begin within a chain's first so many tokens are soft-pinned",
     0, 0, 1e9, ParamSpec::Kind::kWhole},
    {"soft_pin_s", "length of a soft pin, renewed with the lease", 1800, 0, 1e9},
};

std::unique_ptr<EvictionPolicy> make_lease(const EvictionContext& context, const Params& params,
                                           const SourceRef&) {
  LeaseTerms terms;
  const std::uint64_t tokens = context.block_tokens;
  terms.lease = duration_of(params, "lease_s");
  terms.soft_pin_blocks = (params.whole("soft_pin_tokens") + tokens - 1) / tokens;
  terms.soft_pin = duration_of(params, "soft_pin_s");
  return std::make_unique<Lease>(context, terms);
}

}  // namespace spillway
