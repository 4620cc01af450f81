// The composition: its three layers together, and what it is for, a cyclic read.
#include "tests/support/policy_rig.hpp"
#include "tests/support/session_replay.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Slots = std::vector<std::uint32_t>;

/// Request i belongs to session i; blocks of 16 tokens.
EvictionContext some_context() {
  static const RequestFacts facts = test::facts_of_sessions({0, 1, 2, 3});
  static const SlotContents nothing_yet;
  EvictionContext context;
  context.contents = &nothing_yet;
  context.requests = &facts;
  context.block_tokens = 16;
  return context;
}

Access by(std::uint32_t session) {
  return {{}, RequestId{session}};
}

TEST_CASE("composition: the middle leaves first, then tails, then prefixes", "[policies]") {
  // Two sessions of five blocks: the first of each resident, the last pinned.
  PolicyRig rig("composition:prefix_tokens=16:tail_tokens=16", 10, some_context());
  rig.look_up({0, 1, 2, 3, 4}, by(0));
  rig.store({4, 3, 2, 1, 0}, by(0));
  rig.look_up({5, 6, 7, 8, 9}, by(1));
  rig.store({9, 8, 7, 6, 5}, by(1));
  CHECK(rig.drain(6) == Slots{3, 2, 1, 8, 7, 6});
  CHECK(rig.drain(4) == Slots{4, 9, 0, 5});
}

TEST_CASE("composition: a template that sessions share stays as a prefix does", "[policies]") {
  // Blocks 0 to 2 are used by two sessions; 3 and 4 by one each, and are its tail.
  PolicyRig rig("composition:prefix_tokens=0:tail_tokens=16:sessions=2", 10, some_context());
  rig.look_up({0, 1, 2, 3}, by(0));
  rig.store({3, 2, 1, 0}, by(0));
  rig.look_up({0, 1, 2, 4}, by(1));
  rig.store({4}, by(1));
  rig.store({9}, by(2));
  CHECK(rig.drain(6) == Slots{9, 3, 4, 2, 1, 0});
}

TEST_CASE("composition: a budget decides in the middle", "[policies]") {
  // Session 0 has 5 blocks, session 1 has 2 older ones; the budget is 2. Without it LRU takes 8;
  // with it session 0, three above, gives 3 and 2 first (4 is its tail and counts no more), is
  // within its budget with 1 and 0, and then LRU takes 8.
  for (const bool budget : {false, true}) {
    PolicyRig rig(budget ? "composition:prefix_tokens=0:tail_tokens=16:budget_tokens=32"
                         : "composition:prefix_tokens=0:tail_tokens=16",
                  10, some_context());
    rig.look_up({8, 9}, by(1));
    rig.store({9, 8}, by(1));
    rig.look_up({0, 1, 2, 3, 4}, by(0));
    rig.store({4, 3, 2, 1, 0}, by(0));
    CHECK(rig.drain(3) == (budget ? Slots{3, 2, 8} : Slots{8, 3, 2}));
  }
}

TEST_CASE("composition: what it reserves must fit the tier", "[policies]") {
  EvictionContext context = some_context();
  context.capacity = 100;
  const auto make_from = [&](std::string_view text) {
    return parse_eviction(text, {"--policy", 0, ""}).make(context);
  };
  // 800 and 801 tokens are 50 and 51 blocks.
  REQUIRE_NOTHROW(make_from("composition:prefix_tokens=800:tail_tokens=800"));
  REQUIRE_THROWS_WITH(
      make_from("composition:prefix_tokens=800:tail_tokens=801"),
      "--policy: composition: expected no more than the tier holds, 100 blocks of 16 tokens (1600 "
      "tokens), found prefix_tokens=800 (50 blocks) and tail_tokens=801 (51 blocks)");
  REQUIRE_THROWS_AS(make_from("composition:prefix_tokens=1601"), InputError);
  REQUIRE_THROWS_AS(make_from("composition:tail_tokens=1601"), InputError);
  // A default of 128 blocks is cut to what the other leaves.
  REQUIRE_NOTHROW(make_from("composition:tail_tokens=1600"));
  REQUIRE_NOTHROW(make_from("composition"));
}

/// One session reads its `blocks` blocks from first to last, `rounds` times.
Workload cyclic_read(std::uint64_t blocks, int rounds) {
  std::vector<std::uint64_t> chain;
  for (std::uint64_t i = 0; i < blocks; ++i) chain.push_back(i);
  std::vector<test::SessionTurn> turns;
  for (int i = 0; i < rounds; ++i) turns.push_back({100 * i, 0, chain});
  return test::workload_of_sessions(turns);
}

/// Misses a round once the first rounds are over.
double misses_a_round(const std::string& policy, std::uint64_t blocks, std::uint64_t capacity) {
  const auto misses = [&](int rounds) {
    const ReplayCounts counts = test::read_forward(cyclic_read(blocks, rounds), policy, capacity);
    return static_cast<double>(counts.references - counts.block_hits);
  };
  return (misses(20) - misses(4)) / 16;
}

TEST_CASE("composition: a cyclic read of W blocks through C misses W - C, LRU all W",
          "[policies]") {
  // Decode of a session whose context exceeds its share of the tier. With P + T = C - 1 blocks held
  // all of the middle goes through the one place left: W - (C - 1) misses. W = 1,000:
  //   C = 420: 581 misses, LRU / composition = 1.72 (1 / (1 - 0.42) = 1.724)
  //   C = 850: 151 misses, LRU / composition = 6.62 (1 / (1 - 0.85) = 6.67)
  constexpr std::uint64_t kBlocks = 1000;
  const std::uint64_t capacity = GENERATE(420u, 850u);
  const std::uint64_t tail_tokens = 16 * (capacity - 1) - 2048;
  const double lru = misses_a_round("lru", kBlocks, capacity);
  const double composition = misses_a_round(
      fmt::format("composition:tail_tokens={}:prefix_tokens=2048", tail_tokens), kBlocks, capacity);
  CHECK(lru == 1000);
  CHECK(composition == static_cast<double>(kBlocks - capacity + 1));
  const double share = static_cast<double>(capacity) / kBlocks;
  CHECK(lru / composition == Approx(1 / (1 - share)).epsilon(0.05));
  CHECK(lru / composition == Approx(capacity == 420 ? 1.72 : 6.7).epsilon(0.05));
}

}  // namespace
}  // namespace spillway
