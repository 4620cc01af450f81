// A cache of a few blocks around one policy, for worked examples: one reference at a time, with the
// block that each one pushes out.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "tests/support/policy_rig.hpp"

namespace spillway::test {

class PolicyCache {
 public:
  /// Block ids are below `blocks`; a block's slot is of its number.
  PolicyCache(std::string_view policy, std::uint32_t capacity, std::uint32_t blocks)
      : capacity_(capacity), rig_(policy, blocks, of_capacity(capacity)) {}

  PolicyRig& rig() { return rig_; }
  bool holds(std::uint32_t block) const { return held_.count(block) > 0; }

  /// A reference to `block`; the block that leaves for it, if one does.
  std::optional<std::uint32_t> refer(std::uint32_t block) {
    std::optional<std::uint32_t> gone;
    if (holds(block)) {
      rig_.touch({block});
      return gone;
    }
    if (held_.size() == capacity_) {
      SlotId victim{};
      const BlockId incoming{block};
      rig_->pop_victims({&victim, 1}, {&incoming, 1}, {});
      gone = raw(victim);
      held_.erase(*gone);
    }
    held_.insert(block);
    rig_.store({block});
    return gone;
  }
  /// References in order; the blocks that leave for them.
  std::vector<std::uint32_t> refer(std::initializer_list<std::uint32_t> blocks) {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t block : blocks) {
      if (const auto gone = refer(block)) out.push_back(*gone);
    }
    return out;
  }

 private:
  static EvictionContext of_capacity(std::uint32_t capacity) {
    EvictionContext context;
    context.capacity = capacity;
    return context;
  }

  std::uint32_t capacity_;
  PolicyRig rig_;
  std::set<std::uint32_t> held_;
};

}  // namespace spillway::test
