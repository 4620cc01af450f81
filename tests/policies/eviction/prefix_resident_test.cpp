// Prefix-resident: what belongs to the group by place or by sessions, and when it leaves.
#include "tests/support/policy_rig.hpp"
#include "tests/support/session_replay.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Slots = std::vector<std::uint32_t>;

/// Requests 0 to 7 belong to sessions 0, 1, 2, 0, 1, 2, 3, 3. Blocks of 16 tokens.
PolicyRig make(std::string_view policy, std::uint32_t slots) {
  static const RequestFacts facts = test::facts_of_sessions({0, 1, 2, 0, 1, 2, 3, 3});
  EvictionContext context;
  context.requests = &facts;
  context.block_tokens = 16;
  return PolicyRig(policy, slots, context);
}

Access by(std::uint32_t request) {
  return {time_at(request), RequestId{request}};
}

TEST_CASE("prefix-resident: a chain's first tokens leave last", "[policies]") {
  // 17 tokens reach into the second block: 0, 1 and 4, 5 stay. The rest leaves in LRU order, then
  // the group in its own: 4 was used before 1.
  PolicyRig rig = make("prefix-resident:prefix_tokens=17", 10);
  rig.look_up({0, 1, 2, 3}, by(0));
  rig.store({3, 2, 1, 0}, by(0));
  rig.look_up({4, 5, 6}, by(1));
  rig.store({6, 5, 4}, by(1));
  rig.touch({1, 0}, by(1));
  CHECK(rig.drain(3) == Slots{3, 2, 6});
  CHECK(rig.drain(4) == Slots{5, 4, 1, 0});
}

TEST_CASE("prefix-resident: the group is in LRU order though parts of it have waited aside",
          "[policies]") {
  // Draining 7 passes over 0, 1 and 2, which wait aside. 0 is used again: it leaves after 1 and 2.
  PolicyRig rig = make("prefix-resident:prefix_tokens=48", 10);
  rig.look_up({0, 1, 2, 7, 8}, by(0));
  rig.store({0, 1, 2, 7, 8}, by(0));
  CHECK(rig.drain(1) == Slots{7});
  rig.touch({0, 8}, by(0));
  CHECK(rig.drain(4) == Slots{8, 1, 2, 0});
}

TEST_CASE("prefix-resident: what enough sessions share stays wherever it stands", "[policies]") {
  // Two sessions share blocks 0 to 2; block 3 has one session, which comes twice.
  PolicyRig rig = make("prefix-resident:prefix_tokens=0:sessions=2", 10);
  rig.look_up({0, 1, 2, 3}, by(0));
  rig.store({0, 1, 2, 3}, by(0));
  rig.look_up({0, 1, 2, 3}, by(3));
  rig.look_up({0, 1, 2, 4}, by(1));
  rig.store({4}, by(1));
  CHECK(rig.drain(5) == Slots{3, 4, 0, 1, 2});
}

TEST_CASE("prefix-resident: sessions are counted exactly, the last one included", "[policies]") {
  // Three sessions make a block stay. Block 1 has sessions 0, 1, 0, 1 and then 2; block 2 has 0, 1,
  // 0, 1 alone.
  PolicyRig rig = make("prefix-resident:prefix_tokens=0:sessions=3", 10);
  rig.store({1, 2}, by(0));
  for (const std::uint32_t request : {0u, 1u, 3u, 4u}) rig.look_up({1, 2}, by(request));
  rig.look_up({1}, by(5));
  CHECK(rig.drain(2) == Slots{2, 1});
}

TEST_CASE("prefix-resident: a block that turns out to be shared after it was stored is kept",
          "[policies]") {
  PolicyRig rig = make("prefix-resident:prefix_tokens=16", 10);
  rig.store({1, 2, 3}, by(0));
  rig.look_up({1, 2}, by(0));
  CHECK(rig.drain(3) == Slots{2, 3, 1});
}

TEST_CASE("prefix-resident: blocks without a name go first, and of copies one stays",
          "[policies]") {
  PolicyRig rig = make("prefix-resident:prefix_tokens=16", 10);
  rig.look_up({1}, by(0));
  rig.store({1}, by(0));
  rig.contents()[SlotId{2}] = BlockId{1};
  rig->add(PolicyRig::slots({2, 3}), by(0));  // 3 holds no block
  CHECK(rig.drain(3) == Slots{2, 3, 1});
}

TEST_CASE("prefix-resident: a held block that is invalidated is forgotten", "[policies]") {
  PolicyRig rig = make("prefix-resident:prefix_tokens=16", 10);
  rig.look_up({1}, by(0));
  rig.store({1, 2}, by(0));
  CHECK(rig.drain(1) == Slots{2});  // 1 is aside
  rig->remove(PolicyRig::slots({1}), RemoveCause::kInvalidated);
  rig.contents()[SlotId{1}] = BlockId{3};
  rig->add(PolicyRig::slots({1}), by(0));
  rig.store({4}, by(0));
  CHECK(rig.drain(2) == Slots{1, 4});
}

TEST_CASE("prefix-resident: a chain may name a slot that is aside twice", "[policies]") {
  PolicyRig rig = make("prefix-resident:prefix_tokens=32", 10);
  rig.look_up({0, 1, 2}, by(0));
  rig.store({0, 1, 2}, by(0));
  CHECK(rig.drain(1) == Slots{2});  // 0 and 1 are aside
  rig.touch({0, 1, 0}, by(0));
  CHECK(rig.drain(2) == Slots{1, 0});
}

TEST_CASE("prefix-resident: with nothing to keep it is its base", "[policies]") {
  PolicyRig rig = make("prefix-resident:prefix_tokens=0:over=fifo", 10);
  rig.look_up({0, 1}, by(0));
  rig.store({0, 1, 2}, by(0));
  rig.touch({0}, by(0));
  CHECK(rig.drain(3) == Slots{0, 1, 2});
}

}  // namespace
}  // namespace spillway
