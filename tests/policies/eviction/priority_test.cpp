// Retention priorities: by token range, with durations. Blocks of 16 tokens.
#include "sim/units.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Victims = std::vector<std::uint32_t>;

Access at(std::int64_t seconds) {
  return {time_at(seconds * 1'000'000'000), RequestId{}};
}

PolicyRig make(std::string_view policy) {
  EvictionContext context;
  context.block_tokens = 16;
  return PolicyRig(policy, 16, context);
}

TEST_CASE("priority: without retention, all are 35 and the least recently used leaves",
          "[policies]") {
  PolicyRig rig = make("priority");
  rig.look_up({1, 2, 3});
  rig.store({3, 2, 1, 4});
  rig.touch({3});
  CHECK(rig.drain(4) == Victims{4, 3, 2, 1});  // 2 is older than 3, but its parent
}

TEST_CASE("priority: the lowest leaves first, whatever its age", "[policies]") {
  // A prefix of 20 tokens is two blocks: that which begins at token 16 is the last within it.
  PolicyRig rig = make("priority:prefix_tokens=20:prefix_priority=80:other_priority=10");
  rig.look_up({1, 2, 3, 4});
  rig.look_up({5, 6, 7});
  rig.store({2, 1}, at(0));  // 80
  rig.store({4, 3}, at(1));  // 10
  rig.store({7}, at(2));     // 10
  rig.store({6, 5}, at(3));  // 80
  CHECK(rig.drain(7, at(4)) == Victims{4, 3, 7, 2, 1, 6, 5});
}

TEST_CASE("priority: a low head waits for its tail", "[policies]") {
  PolicyRig rig = make("priority:prefix_tokens=16:prefix_priority=0:other_priority=50");
  rig.look_up({1, 2});
  rig.store({2, 1, 3});  // 3 is in no chain: it stands at the root, at 0
  CHECK(rig.drain(3) == Victims{3, 2, 1});
}

TEST_CASE("priority: when its duration is over, a block is the newest of priority 35",
          "[policies]") {
  PolicyRig rig = make("priority:prefix_tokens=16:prefix_priority=90:prefix_duration_s=10");
  rig.look_up({1, 4});
  rig.look_up({2, 5});
  rig.look_up({3, 6});
  rig.store({4, 1}, at(0));  // 1 holds 90 until 10 s, 4 has 35
  rig.store({5, 2}, at(5));  // until 15 s
  rig.store({6, 3}, at(8));  // until 18 s
  // At 10 s, 1 is queued behind 4, 5 and 6.
  CHECK(rig.drain(2, at(10)) == Victims{4, 5});
  rig.touch({6}, at(11));                           // behind 1
  CHECK(rig.drain(2, at(11)) == Victims{1, 6});     // 2 and 3 still hold 90
  rig.store({7}, at(12));                           // at its root: 90 until 22 s
  CHECK(rig.drain(3, at(15)) == Victims{2, 3, 7});  // 2 fell back, 3 is older than 7
}

TEST_CASE("priority: a use renews the duration, a pin stops it", "[policies]") {
  PolicyRig rig = make("priority:prefix_tokens=16:prefix_priority=90:prefix_duration_s=10");
  rig.look_up({1});
  rig.look_up({2});
  rig.look_up({3, 4});
  rig.store({1, 2, 4}, at(0));
  rig.touch({1}, at(6));  // until 16 s
  rig->remove(PolicyRig::slots({2}), RemoveCause::kPinned);
  rig->add(PolicyRig::slots({2}), at(9));  // until 19 s
  CHECK(rig.drain(1, at(15)) == Victims{4});
  rig.store({4}, at(15));                           // 35
  CHECK(rig.drain(3, at(16)) == Victims{4, 1, 2});  // 1 expired at 16, behind 4; 2 holds 90
}

TEST_CASE("priority: a block that fell back gets its priority again with its next use",
          "[policies]") {
  PolicyRig rig = make("priority:prefix_tokens=16:prefix_priority=90:prefix_duration_s=10");
  rig.look_up({1, 2});
  rig.store({1}, at(0));
  rig.touch({1}, at(20));  // expired at 10, 90 again until 30
  rig.store({2}, at(25));
  rig->remove(PolicyRig::slots({2}), RemoveCause::kInvalidated);
  rig.look_up({3, 4});
  rig.store({4}, at(26));
  CHECK(rig.drain(2, at(29)) == Victims{4, 1});
}

TEST_CASE("priority: a duration that lowers ends in a rise", "[policies]") {
  PolicyRig rig = make("priority:prefix_tokens=16:prefix_priority=5:prefix_duration_s=10");
  rig.look_up({1});
  rig.look_up({2, 3});
  rig.store({1}, at(0));  // 5 until 10 s
  rig.store({3}, at(1));  // 35
  CHECK(rig.drain(2, at(10)) == Victims{3, 1});
}

TEST_CASE("priority: slots without a name leave before priority 0", "[policies]") {
  PolicyRig rig = make("priority:prefix_tokens=16:prefix_priority=0");
  rig.look_up({1});
  rig.store({1});
  rig->add(PolicyRig::slots({9}), {});
  CHECK(rig.drain(2) == Victims{9, 1});
}

TEST_CASE("priority: a value beyond 100 is refused", "[policies]") {
  CHECK_THROWS_WITH(parse_eviction("priority:other_priority=101", {"--policy", 0, ""}),
                    "--policy: other_priority: expected a whole number from 0 to 100, found "
                    "\"101\"");
}

}  // namespace
}  // namespace spillway
