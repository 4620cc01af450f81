// What prefix-resident and tail-pin share: some blocks are held back while another policy, the
// base, orders all of them.
//
// The base sees every evictable slot and goes on ordering the held ones with the rest, so that a
// block whose hold ends has kept its place. A held block that the base names as a victim is set
// aside instead, and the base is asked again. Used again, or claimed by who is back, it returns to
// the base as new; when its hold ends while it is aside it leaves next, for its turn has come
// before; and when the base has nothing else to name, what is aside leaves in the order in which it
// was set aside. Of a block that several slots hold each layer keeps one. One without a name is
// never held.
//
// Each slot is set aside at most once for each time it is added, used or claimed: the work follows
// the calls of the tier. The base takes a block set aside for evicted (its ghosts may remember it),
// and is told the incoming blocks once.
#pragma once

#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/index_lists.hpp"

namespace spillway {

class HoldBack : public EvictionPolicy {
 public:
  void add(SlotSpan slots, const Access& access) final;
  void touch(SlotSpan slots, const Access& access) final;
  void remove(SlotSpan slots, RemoveCause cause) final;
  void pop_victims(std::span<SlotId> out, BlockSpan incoming, const Access& access) final;
  void grow(std::uint32_t slots, std::uint32_t blocks) final;
  bool wants_chains() const final { return true; }
  void on_lookup(BlockSpan chain, const Access& access) final;
  void on_release(BlockSpan chain, const Access& access) final;
  void on_growth(BlockSpan chain, const Access& access) final;

 protected:
  HoldBack(std::unique_ptr<EvictionPolicy> base, const EvictionContext& context);

  /// A chain was looked for or is about to be released: claims blocks and ends claims.
  virtual void hear(BlockSpan chain, const Access& access) = 0;
  /// What the base says of the chain [from, to), as places in the whole chain.
  BlockRange excess_within(std::uint64_t from, std::uint64_t to) const {
    const BlockRange inner = base_->excess_of(to - from);
    return {from + inner.from, from + inner.to};
  }
  /// Ends the claims that are over at `now`; before victims are named.
  virtual void expire(Time /*now*/) {}
  virtual void grow_further(std::uint32_t /*slots*/, std::uint32_t /*blocks*/) {}

  /// A block is held as long as it has claims. Who claims it is using it.
  void claim(BlockId block, const Access& access);
  bool claimed(BlockId block) const { return held_[raw(block)].claims > 0; }
  /// One claim less, because its time is over.
  void unclaim(BlockId block);
  /// One claim less, because its owner is back, which counts as a use.
  void unclaim_used(BlockId block, const Access& access);

 private:
  enum List : std::uint32_t { kHeld, kDue, kLists };  ///< of slots that are aside
  struct Held {
    std::uint32_t claims = 0;
    SlotId aside = kNoSlot;
  };

  /// Whether no claim is left and a slot of the block is aside.
  bool ended_aside(BlockId block) {
    return --held_[raw(block)].claims == 0 && held_[raw(block)].aside != kNoSlot;
  }
  bool is_aside(SlotId slot) const { return aside_count_ > 0 && aside_.contains(raw(slot)); }
  bool set_aside(SlotId slot);
  void return_to_base(SlotId slot, const Access& access);
  void take_back(SlotId slot);
  SlotId pop_aside(List list);
  template <class Aside, class Other>
  void for_runs(SlotSpan slots, const Aside& aside, const Other& other);

  std::unique_ptr<EvictionPolicy> base_;
  bool base_wants_chains_;
  const SlotContents& contents_;
  std::uint64_t in_base_ = 0;  ///< evictable slots that the base knows
  std::uint32_t aside_count_ = 0;
  IndexLists aside_;
  std::vector<Held> held_;  ///< by block
};

}  // namespace spillway
