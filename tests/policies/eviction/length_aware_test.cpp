// Length-aware: uses, then nearness to the root, then age.
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Victims = std::vector<std::uint32_t>;

TEST_CASE("length-aware: the least used leaves first", "[policies]") {
  PolicyRig rig("length-aware", 10);
  rig.look_up({1, 2, 3});
  rig.store({1, 2, 3});
  rig.touch({3});  // uses: 1, 1, 2
  CHECK(rig.drain(3) == Victims{2, 1, 3});
}

TEST_CASE("length-aware: equals go by depth, then the least recently used", "[policies]") {
  PolicyRig rig("length-aware", 10);
  rig.look_up({1, 2, 3});
  rig.look_up({4, 5});
  rig.store({1, 2, 3, 4, 5});
  // Depths 0 1 2 and 0 1: 3, then 2 before 5 and 1 before 4 by age.
  CHECK(rig.drain(5) == Victims{3, 2, 5, 1, 4});
}

TEST_CASE("length-aware: what is used in the middle of the order takes its new place",
          "[policies]") {
  PolicyRig rig("length-aware", 10);
  rig.look_up({1, 2, 3, 4});
  rig.store({1, 2, 3, 4});
  rig.touch({4, 3});
  rig.touch({4});  // uses: 1 1 2 3
  CHECK(rig.drain(2) == Victims{2, 1});
  rig.look_up({5});
  rig.store({5});
  CHECK(rig.drain(3) == Victims{5, 3, 4});
}

TEST_CASE("length-aware: a pin keeps the count and adds to it, leaving forgets it", "[policies]") {
  PolicyRig rig("length-aware", 10);
  rig.store({1, 2, 3});
  rig.touch({1, 2});  // uses: 2 2 1
  rig->remove(PolicyRig::slots({3, 1}), RemoveCause::kPinned);
  rig->add(PolicyRig::slots({3}), {});  // 2, and newer than 2
  rig->add(PolicyRig::slots({1}), {});  // 3
  rig->remove(PolicyRig::slots({2}), RemoveCause::kInvalidated);
  rig.store({2});  // 1
  CHECK(rig.drain(3) == Victims{2, 3, 1});
  rig.store({1, 4});
  CHECK(rig.drain(2) == Victims{1, 4});  // 1 has lost its three
}

TEST_CASE("length-aware: slots without a name leave first", "[policies]") {
  PolicyRig rig("length-aware", 10);
  rig.store({1});
  rig->add(PolicyRig::slots({8, 9}), {});
  rig->touch(PolicyRig::slots({8}), {});
  rig->touch(PolicyRig::slots({8}), {});
  CHECK(rig.drain(3) == Victims{9, 8, 1});
}

}  // namespace
}  // namespace spillway
