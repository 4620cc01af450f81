// The leaf queue against a search of all slots.
#include "policies/containers/leaf_queue.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::uint32_t kSlots = 24;
constexpr std::uint32_t kBlocks = 15;  // fewer than slots: some are held twice
constexpr std::uint32_t kLevels = 3;

/// The same rule by looking at every slot. Block b is a child of block (b - 1) / 2.
struct Naive {
  struct Slot {
    BlockId block = kNoBlock;
    bool evictable = false;
    std::uint32_t level = 0;
    int age = 0;
  };
  std::array<Slot, kSlots> slots;

  bool is_leaf(BlockId block) const {
    for (const Slot& other : slots) {
      if (other.block == kNoBlock || raw(other.block) == 0) continue;
      if (block != kNoBlock && (raw(other.block) - 1) / 2 == raw(block)) return false;
    }
    return true;
  }
  std::uint32_t victim() const {
    using Rank = std::tuple<bool, std::uint32_t, int, std::uint32_t>;
    Rank least{true, kLevels, 0, 0};
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      const Slot& slot = slots[i];
      if (!slot.evictable) continue;
      least = std::min(least, Rank{!is_leaf(slot.block), slot.level, slot.age, i});
    }
    return std::get<3>(least);
  }
};

TEST_CASE("the leaf queue names the lowest, oldest leaf, else the lowest and oldest",
          "[policies]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Stream random(seed, "leaf-queue");
    LeafQueue queue(kLevels, kSlots, kBlocks);
    for (std::uint32_t leaf = kBlocks / 2; leaf < kBlocks; ++leaf) {
      std::vector<BlockId> chain = {BlockId{leaf}};
      while (raw(chain.front()) > 0) {
        chain.insert(chain.begin(), BlockId{(raw(chain.front()) - 1) / 2});
      }
      queue.learn(chain);
    }
    Naive naive;
    std::uint32_t evictable = 0;
    for (int step = 0; step < 3'000; ++step) {
      const SlotId slot{static_cast<std::uint32_t>(random.below(kSlots))};
      Naive::Slot& model = naive.slots[raw(slot)];
      const auto level = static_cast<std::uint32_t>(random.below(kLevels));
      switch (random.below(5)) {
        case 0:
        case 1:
          if (model.evictable) break;
          if (model.block == kNoBlock && random.chance(0.95)) {  // else it has no name
            model.block = BlockId{static_cast<std::uint32_t>(random.below(kBlocks))};
          }
          queue.push(slot, model.block, level);
          model = {model.block, true, level, step};
          ++evictable;
          break;
        case 2:
          if (!model.evictable) break;
          queue.renew(slot, level);
          model.level = level;
          model.age = step;
          break;
        case 3:
          if (!model.evictable) break;
          queue.withdraw(slot);
          model.evictable = false;
          --evictable;
          if (random.chance(0.5)) {
            queue.forget(slot);
            model.block = kNoBlock;
          }
          break;
        default:
          if (evictable == 0) break;
          const std::uint32_t victim = naive.victim();
          REQUIRE(raw(queue.pop()) == victim);
          naive.slots[victim] = {};
          --evictable;
      }
    }
  }
}

}  // namespace
}  // namespace spillway
