// Tail-pin: histories of pins, of what ends them, and of what happens when all is pinned.
#include "tests/support/policy_rig.hpp"
#include "tests/support/session_replay.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Slots = std::vector<std::uint32_t>;

/// Requests 0 to 9 take turns in two sessions: even ones in session 0, odd ones in session 1.
const RequestFacts& two_sessions() {
  static const RequestFacts facts = test::facts_of_sessions({0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  return facts;
}

/// Blocks of 16 tokens.
PolicyRig make(std::string_view policy, std::uint32_t slots,
               const RequestFacts& facts = two_sessions()) {
  EvictionContext context;
  context.requests = &facts;
  context.block_tokens = 16;
  return PolicyRig(policy, slots, context);
}

Access at(std::int64_t seconds, std::uint32_t request) {
  return {time_at(seconds * 1'000'000'000), RequestId{request}};
}

TEST_CASE("tail-pin: a session's last blocks are not chosen before its next look-up",
          "[policies]") {
  // 17 tokens are two blocks: 2 and 3 of session 0, 5 and 6 of session 1. LRU order, tails first:
  // 3 2 1 0 6 5. So 1 and 0 leave.
  PolicyRig rig = make("tail-pin:tail_tokens=17", 10);
  rig.look_up({0, 1, 2, 3}, at(0, 0));
  rig.store({3, 2, 1, 0}, at(0, 0));
  rig.look_up({5, 6}, at(1, 1));
  rig.store({6, 5}, at(1, 1));
  CHECK(rig.drain(2, at(2, 1)) == Slots{1, 0});
  // Session 0 is back with one block more: its tail is 3 and 4 now. 2 counts as used just now and
  // is all that may leave.
  rig.look_up({0, 1, 2, 3, 4}, at(3, 2));
  CHECK(rig.drain(1, at(3, 2)) == Slots{2});
  // Block 4 comes and is held as soon as it is there: then all is held, and session 1's tail was
  // used longest ago.
  rig.store({4}, at(3, 2));
  CHECK(rig.drain(4, at(3, 2)) == Slots{6, 5, 3, 4});
}

TEST_CASE("tail-pin: a release moves the tail to the end of the answer", "[policies]") {
  // The prompt ends with block 1, the answer with block 2.
  PolicyRig rig = make("tail-pin:tail_tokens=16", 10);
  rig.look_up({0, 1}, at(0, 0));
  const std::vector<BlockId> chain = {BlockId{0}, BlockId{1}, BlockId{2}};
  rig->on_release(chain, at(1, 0));
  rig.store({2, 1, 0}, at(1, 0));
  CHECK(rig.drain(3) == Slots{1, 0, 2});
}

TEST_CASE("tail-pin: a tail that is held by two sessions stays until both have left it",
          "[policies]") {
  PolicyRig rig = make("tail-pin:tail_tokens=16", 10);
  rig.look_up({0, 1}, at(0, 0));
  rig.look_up({0, 1}, at(1, 1));
  rig.store({1, 0}, at(1, 1));
  rig.look_up({0, 2}, at(2, 2));  // session 0 has moved on
  rig.store({3}, at(2, 2));
  CHECK(rig.drain(1, at(2, 2)) == Slots{0});
  CHECK(rig.drain(1, at(2, 2)) == Slots{3});
  rig.store({4}, at(2, 2));
  rig.look_up({0, 5}, at(3, 3));  // session 1 too: 1 was used just now, after 4
  CHECK(rig.drain(2, at(3, 3)) == Slots{4, 1});
}

TEST_CASE("tail-pin: a session that is not seen for its time to live is given up", "[policies]") {
  // Seen at 0 s and 5 s, given up after 10 s. Blocks 9, 8, ... are used later than both tails.
  PolicyRig rig = make("tail-pin:tail_tokens=16:ttl_s=10", 12);
  rig.look_up({1}, at(0, 0));
  rig.look_up({2}, at(5, 1));
  rig.store({1, 2}, at(5, 1));
  rig.store({9, 8, 7, 6}, at(6, 1));
  CHECK(rig.drain(1, at(9, 1)) == Slots{9});
  // At 10 s session 0 is given up. LRU has named its block before, so it leaves next.
  CHECK(rig.drain(2, at(10, 1)) == Slots{1, 8});
  CHECK(rig.drain(1, at(14, 1)) == Slots{7});
  CHECK(rig.drain(2, at(15, 1)) == Slots{2, 6});
}

TEST_CASE("tail-pin: a tail given up before its turn came keeps its place", "[policies]") {
  // LRU order 3, 1, 4: at 20 s session 0 is given up, but 3 is older than its block 1.
  PolicyRig rig = make("tail-pin:tail_tokens=16:ttl_s=10", 12);
  rig.look_up({1}, at(0, 0));
  rig.store({3, 1, 4}, at(0, 0));
  CHECK(rig.drain(3, at(20, 1)) == Slots{3, 1, 4});
}

TEST_CASE("tail-pin: without a time to live a session is never given up", "[policies]") {
  PolicyRig rig = make("tail-pin:tail_tokens=16:ttl_s=0", 12);
  rig.look_up({1}, at(0, 0));
  rig.store({1, 2}, at(0, 0));
  CHECK(rig.drain(1, at(1'000'000'000, 1)) == Slots{2});
}

TEST_CASE("tail-pin: when all is pinned, the tail used longest ago gives way first", "[policies]") {
  PolicyRig rig = make("tail-pin:tail_tokens=32", 4);
  rig.look_up({0, 1}, at(0, 0));
  rig.store({1, 0}, at(0, 0));
  rig.look_up({2, 3}, at(1, 1));
  rig.store({3, 2}, at(1, 1));
  CHECK(rig.drain(1, at(2, 1)) == Slots{1});
  // What takes its place belongs to no tail and gives way before the others.
  rig.contents()[SlotId{1}] = kNoBlock;
  rig->add(PolicyRig::slots({1}), at(2, 1));
  CHECK(rig.drain(4, at(2, 1)) == Slots{1, 0, 3, 2});
}

TEST_CASE("tail-pin: no more tail blocks are remembered than the tier has places", "[policies]") {
  // Three sessions with tails of two blocks, and four places: the first session is given up.
  const RequestFacts facts = test::facts_of_sessions({0, 1, 2});
  PolicyRig rig = make("tail-pin:tail_tokens=32:ttl_s=0", 4, facts);
  rig.look_up({0, 1}, at(0, 0));
  rig.store({0, 1}, at(0, 0));
  rig.look_up({2, 3}, at(1, 1));
  rig.store({2, 3}, at(1, 1));
  CHECK(rig.drain(1, at(1, 1)) == Slots{0});
  // 1 was aside with its tail. Session 2's tail of two blocks ends its hold: it leaves next.
  const std::vector<BlockId> other = {BlockId{0}};
  rig->on_lookup(other, at(2, 2));
  rig.store({0}, at(2, 2));
  CHECK(rig.drain(1, at(2, 2)) == Slots{1});
}

TEST_CASE("tail-pin: blocks without a name are not held", "[policies]") {
  PolicyRig rig = make("tail-pin:tail_tokens=16", 4);
  rig.look_up({1}, at(0, 0));
  rig.store({1}, at(0, 0));
  rig->add(PolicyRig::slots({2, 3}), at(0, 0));  // these slots hold no block
  CHECK(rig.drain(3) == Slots{2, 3, 1});
}

TEST_CASE("tail-pin: of two slots with a tail's block one stays", "[policies]") {
  PolicyRig rig = make("tail-pin:tail_tokens=16", 6);
  rig.look_up({0, 1}, at(0, 0));
  rig.store({1, 2}, at(0, 0));
  rig.contents()[SlotId{3}] = BlockId{1};
  rig->add(PolicyRig::slots({3}), at(0, 0));
  rig.store({4}, at(0, 0));
  CHECK(rig.drain(3) == Slots{2, 3, 4});
  // The kept one may be withdrawn and come back, and is held again.
  rig->remove(PolicyRig::slots({1}), RemoveCause::kPinned);
  rig->add(PolicyRig::slots({1}), at(1, 0));
  rig.store({5}, at(1, 0));
  CHECK(rig.drain(2, at(1, 0)) == Slots{5, 1});
}

TEST_CASE("tail-pin: a base of its own orders what is not held", "[policies]") {
  // FIFO: use does not count, so 0 leaves before 1; LRU would keep it longer.
  PolicyRig rig = make("tail-pin:tail_tokens=16:over=fifo", 6);
  rig.look_up({0, 1, 2}, at(0, 0));
  rig.store({0, 1, 2}, at(0, 0));
  rig.touch({0}, at(0, 0));
  CHECK(rig.drain(3) == Slots{0, 1, 2});
}

TEST_CASE("tail-pin: LRU evicts the tail that decode reads at every step, tail-pin does not",
          "[policies]") {
  // Session 0 reads its two last blocks at every step. Between two steps another session brings as
  // many new blocks as the cache has, 12. LRU has lost the tail each time: 2 x 20 misses. Under
  // tail-pin only the first step misses, though each of the others leaves a tail of its own.
  std::vector<test::SessionTurn> turns;
  std::uint64_t next = 100;
  for (std::uint64_t step = 0; step < 20; ++step) {
    turns.push_back({static_cast<std::int64_t>(step), 0, {1, 2}});
    turns.push_back({static_cast<std::int64_t>(step), step + 1, {}});
    for (int i = 0; i < 12; ++i) turns.back().blocks.push_back(next++);
  }
  const Workload workload = test::workload_of_sessions(turns);
  CHECK(test::read_forward(workload, "lru", 12).block_hits == 0);
  CHECK(test::read_forward(workload, "tail-pin:tail_tokens=32", 12).block_hits == 2 * 19);
}

TEST_CASE("tail-pin: a tail larger than the tier is refused with its figures", "[policies]") {
  const SlotContents nothing_yet;
  EvictionContext context;
  context.contents = &nothing_yet;
  context.requests = &two_sessions();
  context.capacity = 10;
  context.block_tokens = 16;
  const auto make_from = [&](std::string_view text) {
    return parse_eviction(text, {"s.json", 3, "tiers.0.eviction"}).make(context);
  };
  REQUIRE_THROWS_WITH(make_from("tail-pin:tail_tokens=161"),
                      "s.json:3: tiers.0.eviction: tail-pin: expected no more than the tier holds, "
                      "10 blocks of 16 tokens (160 tokens), found tail_tokens=161 (11 blocks)");
  REQUIRE_THROWS_WITH(make_from("tail-pin:over=prefix-resident"),
                      "s.json:3: tiers.0.eviction: over: expected a policy that neither holds "
                      "blocks back itself nor needs the future, found \"prefix-resident\"");
}

}  // namespace
}  // namespace spillway
