// Session-budget: whose block leaves, and which.
#include "sim/rng.hpp"
#include "tests/support/policy_rig.hpp"
#include "tests/support/session_replay.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Slots = std::vector<std::uint32_t>;

/// Request i belongs to session i; blocks of 16 tokens.
PolicyRig make(std::string_view policy, std::uint32_t slots) {
  static const RequestFacts facts = test::facts_of_sessions({0, 1, 2, 3});
  EvictionContext context;
  context.requests = &facts;
  context.block_tokens = 16;
  return PolicyRig(policy, slots, context);
}

Access by(std::uint32_t session) {
  return {{}, RequestId{session}};
}

TEST_CASE("session-budget: the session farthest above its budget gives first", "[policies]") {
  // 47 tokens are two whole blocks. Session 0 holds 3, session 1 holds 5, session 2 holds 1.
  // Session 1 is 3 above and gives 14, 13 (until it is 1 above, as session 0: a tie, the lower id
  // gives 2), then 12; then nobody is above and plain LRU rules.
  PolicyRig rig = make("session-budget:budget_tokens=47", 20);
  rig.store({2, 1, 0}, by(0));
  rig.store({14, 13, 12, 11, 10}, by(1));
  rig.store({15}, by(2));
  CHECK(rig.drain(4) == Slots{14, 13, 2, 12});
  CHECK(rig.drain(5) == Slots{1, 0, 11, 10, 15});
}

TEST_CASE("session-budget: a block belongs to the session that used it last", "[policies]") {
  // Budget of one block. 0, 1, 2 are session 0's; session 1 uses 0 and 1: it is one above now, with
  // 0 as its oldest, and session 0 is within its budget.
  PolicyRig rig = make("session-budget:budget_tokens=16", 10);
  rig.store({0, 1, 2}, by(0));
  rig.touch({0, 1}, by(1));
  CHECK(rig.drain(3) == Slots{0, 2, 1});
}

TEST_CASE("session-budget: blocks in use do not count", "[policies]") {
  // Session 0 has 3 blocks, two of them in use: session 1 with 2 is the one above.
  PolicyRig rig = make("session-budget:budget_tokens=16", 10);
  rig.store({0, 1, 2}, by(0));
  rig.store({3, 4}, by(1));
  rig->remove(PolicyRig::slots({1, 2}), RemoveCause::kPinned);
  CHECK(rig.drain(1) == Slots{3});
  rig->add(PolicyRig::slots({2, 1}), by(2));  // their new user's now, which is above
  CHECK(rig.drain(4) == Slots{2, 0, 4, 1});
}

TEST_CASE("session-budget: a chain may name a slot twice", "[policies]") {
  PolicyRig rig = make("session-budget:budget_tokens=16", 10);
  rig.store({0, 1, 2}, by(0));
  rig.touch({0, 1, 0}, by(1));
  CHECK(rig.drain(3) == Slots{1, 2, 0});
}

TEST_CASE("session-budget: equals a plain account of sessions on random histories", "[policies]") {
  // The plain one: a list in LRU order, searched for the session with the most blocks above 3.
  struct Item {
    std::uint32_t slot;
    std::uint32_t session;
  };
  PolicyRig rig = make("session-budget:budget_tokens=48", 24);
  std::vector<Item> plain;
  Stream random(11, "session-budget");
  const auto find = [&](std::uint32_t slot) {
    return std::find_if(plain.begin(), plain.end(),
                        [&](const Item& item) { return item.slot == slot; });
  };
  for (int step = 0; step < 5000; ++step) {
    const auto slot = static_cast<std::uint32_t>(random.below(24));
    const auto session = static_cast<std::uint32_t>(random.below(4));
    const std::vector<SlotId> one = {SlotId{slot}};
    const auto it = find(slot);
    if (it == plain.end()) {
      rig->add(one, by(session));
      plain.push_back({slot, session});
    } else if (random.chance(0.5)) {
      rig->touch(one, by(session));
      plain.erase(it);
      plain.push_back({slot, session});
    } else if (random.chance(0.3)) {
      rig->remove(one, RemoveCause::kPinned);
      plain.erase(it);
    } else {
      std::int64_t count[4] = {};
      for (const Item& item : plain) ++count[item.session];
      const auto farthest = std::max_element(count, count + 4) - count;
      auto victim = plain.begin();
      if (count[farthest] > 3) {
        while (victim->session != farthest) ++victim;
      }
      REQUIRE(rig.drain(1) == Slots{victim->slot});
      plain.erase(victim);
    }
  }
}

TEST_CASE("session-budget: a long session does not push out short ones", "[policies]") {
  // Session 1 reads four blocks, session 0 then 20 new ones, over and over, in a cache of 12. LRU
  // never finds anything again; with a budget of 8 blocks session 0 makes room itself.
  std::vector<test::SessionTurn> turns;
  for (std::uint64_t round = 0; round < 10; ++round) {
    turns.push_back({static_cast<std::int64_t>(round), 1, {1, 2, 3, 4}});
    turns.push_back({static_cast<std::int64_t>(round), 0, {}});
    for (std::uint64_t i = 0; i < 20; ++i) turns.back().blocks.push_back(100 + 20 * round + i);
  }
  const Workload workload = test::workload_of_sessions(turns);
  CHECK(test::read_forward(workload, "lru", 12).block_hits == 0);
  CHECK(test::read_forward(workload, "session-budget:budget_tokens=112", 12).block_hits == 4 * 9);
}

}  // namespace
}  // namespace spillway
