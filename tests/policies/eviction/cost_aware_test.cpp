// GreedyDual-Size-Frequency. With block_tokens 1 a block's cost is token_cost + depth *
// context_cost, here 10 + 5 * depth.
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Victims = std::vector<std::uint32_t>;

constexpr std::string_view kPolicy = "cost-aware:token_cost=10:context_cost=5";

TEST_CASE("cost-aware: uses times cost decide, equals go by age", "[policies]") {
  PolicyRig rig(kPolicy, 10);
  rig.look_up({1, 2, 3});
  rig.look_up({4, 5});
  rig.store({1, 2, 3, 4, 5});
  rig.touch({1});
  // 1: 2 * 10 = 20, newer than 3: 20; 2: 15, older than 5: 15; 4: 10.
  CHECK(rig.drain(5) == Victims{4, 2, 5, 3, 1});
}

TEST_CASE("cost-aware: the clock lets what is not used any more grow old", "[policies]") {
  PolicyRig rig(kPolicy, 10);
  rig.store({1, 2});
  rig.touch({1});
  rig.touch({1});                     // 1: 3 * 10 = 30, 2: 10
  CHECK(rig.drain(1) == Victims{2});  // the clock is 10
  rig.store({2});                     // 10 + 10 = 20
  CHECK(rig.drain(1) == Victims{2});  // 20
  rig.store({2});                     // 30, as much as 1 and newer
  CHECK(rig.drain(2) == Victims{1, 2});
}

TEST_CASE("cost-aware: a block of several tokens costs what its mean token does", "[policies]") {
  EvictionContext context;
  context.block_tokens = 4;
  PolicyRig rig("cost-aware:token_cost=0:context_cost=2", 10, context);
  rig.look_up({1, 2});
  rig.store({1, 2});
  // 1: 2 * 1.5 = 3 a use; 2: 2 * (4 + 1.5) = 11.
  rig.touch({1});
  rig.touch({1});
  CHECK(rig.drain(1) == Victims{1});  // 9 < 11
  rig.store({1});                     // clock 9: 9 + 3 = 12 > 11
  CHECK(rig.drain(2) == Victims{2, 1});
}

TEST_CASE("cost-aware: a pin keeps the uses, leaving forgets them", "[policies]") {
  PolicyRig rig(kPolicy, 10);
  rig.store({1, 2, 3});
  rig->remove(PolicyRig::slots({1, 2}), RemoveCause::kPinned);
  rig->add(PolicyRig::slots({1}), {});  // 2 uses: 20
  rig->add(PolicyRig::slots({2}), {});  // 20, newer
  rig->remove(PolicyRig::slots({1}), RemoveCause::kInvalidated);
  rig.store({1});  // 10, newer than 3
  CHECK(rig.drain(3) == Victims{3, 1, 2});
}

TEST_CASE("cost-aware: slots without a name leave first and do not move the clock", "[policies]") {
  PolicyRig rig(kPolicy, 10);
  rig.store({1});
  rig->add(PolicyRig::slots({9}), {});
  rig->touch(PolicyRig::slots({9}), {});
  CHECK(rig.drain(1) == Victims{9});
  rig.store({2});  // 10: the clock is still 0
  CHECK(rig.drain(2) == Victims{1, 2});
}

TEST_CASE("cost-aware: a block found nearer to a root is worth less at once", "[policies]") {
  PolicyRig rig(kPolicy, 10);
  rig.look_up({1, 2, 3, 4, 5});
  rig.store({5, 4});  // 30 and 25
  rig.look_up({5});
  rig.touch({5});  // 2 * 10 = 20
  CHECK(rig.drain(2) == Victims{5, 4});
}

}  // namespace
}  // namespace spillway
