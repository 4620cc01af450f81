// Leaf LRU: a block with a resident child stays.
#include "policies/containers/leaf_queue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Victims = std::vector<std::uint32_t>;

TEST_CASE("leaf LRU: a parent leaves after its last child, however old it is", "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.look_up({1, 2, 3});
  rig.look_up({1, 4});
  rig.store({1, 2, 3, 4, 5});  // heads first: LRU would name 1, 2, 3, 4, 5
  // 3, 4 and 5 are leaves. 3 is the oldest and frees 2, which is older than 4; 1 still has 4.
  CHECK(rig.drain(5) == Victims{3, 2, 4, 1, 5});
}

TEST_CASE("leaf LRU: tails first, it is LRU", "[policies]") {
  PolicyRig leaf("leaf-lru", 10);
  PolicyRig lru("lru", 10);
  for (PolicyRig* rig : {&leaf, &lru}) {
    rig->look_up({1, 2, 3});
    rig->store({3, 2, 1});
    rig->look_up({1, 4});
    rig->store({4});
    rig->touch({1});
  }
  CHECK(leaf.drain(4) == Victims{3, 2, 4, 1});
  CHECK(lru.drain(4) == Victims{3, 2, 4, 1});
}

TEST_CASE("leaf LRU: a use counts among leaves only", "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.look_up({1, 2});
  rig.store({1, 2, 3});
  rig.touch({2});
  CHECK(rig.drain(3) == Victims{3, 2, 1});  // 2 is newest of 3 and 2, and 1 its parent
}

TEST_CASE("leaf LRU: a pinned child protects its parent, until nothing else is left",
          "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.look_up({1, 2, 3});
  rig.store({1, 2, 3, 4});
  rig->remove(PolicyRig::slots({3}), RemoveCause::kPinned);
  CHECK(rig.drain(1) == Victims{4});  // 1 and 2 are older, yet no leaves
  CHECK(rig.drain(1) == Victims{1});  // none of 1 and 2 is a leaf: plain LRU
  rig->add(PolicyRig::slots({3}), {});
  CHECK(rig.drain(2) == Victims{3, 2});  // 3 came back, so 2 waits for it
}

TEST_CASE("leaf LRU: an invalidated child frees its parent", "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.look_up({1, 2});
  rig.store({1, 2, 3});
  CHECK(rig.drain(1) == Victims{2});  // puts 1 aside
  rig.store({2});
  rig->remove(PolicyRig::slots({2}), RemoveCause::kInvalidated);
  CHECK(rig.drain(2) == Victims{1, 3});
}

TEST_CASE("leaf LRU: a child that comes takes its parent's turn away", "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.look_up({1, 2, 3});
  rig.store({1, 2, 4});
  CHECK(rig.drain(1) == Victims{2});  // 1 was put aside and is a leaf now, the oldest
  rig.store({2});                     // and no longer
  CHECK(rig.drain(3) == Victims{4, 2, 1});
}

TEST_CASE("leaf LRU: one block in two slots is one parent and one child", "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.look_up({1, 2});
  const auto put = [&](std::uint32_t slot, std::uint32_t block) {
    rig.contents()[SlotId{slot}] = BlockId{block};
    const std::vector<SlotId> slots = {SlotId{slot}};
    rig->add(slots, {});
  };
  put(5, 1);  // block 1 twice, then block 2 twice
  put(6, 1);
  put(7, 2);
  put(8, 2);
  CHECK(rig.drain(1) == Victims{7});
  // Slot 8 still holds the child of both; with it gone both are leaves again, in their old order.
  CHECK(rig.drain(3) == Victims{8, 5, 6});
}

TEST_CASE("leaf LRU: slots without a name leave first", "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.store({1, 2});
  rig->add(PolicyRig::slots({8, 9}), {});  // their contents are kNoBlock
  rig->touch(PolicyRig::slots({8}), {});
  CHECK(rig.drain(4) == Victims{9, 8, 1, 2});
}

TEST_CASE("leaf LRU: chains that bite their own tails still come to an end", "[policies]") {
  PolicyRig rig("leaf-lru", 10);
  rig.look_up({1, 2, 1});  // 1 is the parent of 2 and 2 that of 1
  rig.look_up({3, 3});
  rig.store({1, 2, 3});
  CHECK(rig.drain(3) == Victims{3, 1, 2});
}

}  // namespace
}  // namespace spillway
