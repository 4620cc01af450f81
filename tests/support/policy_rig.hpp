// One policy with a tier's slots around it, for tests that speak to the contract itself.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "policies/catalogue.hpp"

namespace spillway::test {

/// Blocks are stored in slots of the same number, unless a test says otherwise.
class PolicyRig {
 public:
  PolicyRig(const EvictionChoice& policy, std::uint32_t slots, EvictionContext context = {}) {
    contents_->resize(slots);
    context.slots = slots;
    if (context.blocks < slots) context.blocks = slots;
    if (context.capacity == 0) context.capacity = slots;
    context.contents = contents_.get();
    policy_ = policy.make(context);
  }
  PolicyRig(std::string_view policy, std::uint32_t slots, const EvictionContext& context = {})
      : PolicyRig(parse_eviction(policy, {}), slots, context) {}

  EvictionPolicy& policy() { return *policy_; }
  EvictionPolicy* operator->() { return policy_.get(); }

  /// Blocks that were not there, each in the slot of its number, in the order of add().
  void store(std::initializer_list<std::uint32_t> blocks, const Access& access = {}) {
    for (const std::uint32_t block : blocks) (*contents_)[SlotId{block}] = BlockId{block};
    policy_->add(slots(blocks), access);
  }
  void touch(std::initializer_list<std::uint32_t> slots_touched, const Access& access = {}) {
    policy_->touch(slots(slots_touched), access);
  }
  void look_up(std::initializer_list<std::uint32_t> blocks, const Access& access = {}) {
    std::vector<BlockId> chain;
    for (const std::uint32_t block : blocks) chain.push_back(BlockId{block});
    policy_->on_lookup(chain, access);
  }
  /// The slots of the next victims, first to leave first.
  std::vector<std::uint32_t> drain(std::size_t count, const Access& access = {}) {
    std::vector<SlotId> victims(count);
    policy_->pop_victims(victims, {}, access);
    std::vector<std::uint32_t> out;
    for (const SlotId slot : victims) {
      (*contents_)[slot] = kNoBlock;
      out.push_back(raw(slot));
    }
    return out;
  }
  SlotContents& contents() { return *contents_; }

  void grow(std::uint32_t slots) {
    contents_->resize(slots);
    policy_->grow(slots, slots);
  }

  static std::vector<SlotId> slots(std::initializer_list<std::uint32_t> list) {
    std::vector<SlotId> out;
    for (const std::uint32_t id : list) out.push_back(SlotId{id});
    return out;
  }

 private:
  std::unique_ptr<SlotContents> contents_ = std::make_unique<SlotContents>();
  std::unique_ptr<EvictionPolicy> policy_;
};

}  // namespace spillway::test
