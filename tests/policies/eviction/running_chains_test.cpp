// What eviction policies are asked where the blocks of running requests may leave: which part of a
// new chain exceeds its session's share, and where a chain's tail is once it has grown.
#include "tests/support/policy_rig.hpp"
#include "tests/support/session_replay.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Slots = std::vector<std::uint32_t>;

/// Request i belongs to session i; blocks of 16 tokens.
EvictionContext some_context() {
  static const RequestFacts facts = test::facts_of_sessions({0, 1});
  EvictionContext context;
  context.requests = &facts;
  context.block_tokens = 16;
  return context;
}

/// The part of a chain of 100 blocks that goes below at once, of 200 slots.
std::pair<std::uint64_t, std::uint64_t> excess(std::string_view policy,
                                               std::uint64_t blocks = 100) {
  PolicyRig rig(policy, 200, some_context());
  const BlockRange range = rig->excess_of(blocks);
  return {range.from, range.to};
}

TEST_CASE("a budget's excess is the middle of the chain", "[policies]") {
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(excess("session-budget:budget_tokens=640") == Range{40, 100});
  // 10 resident, 20 within the budget, the last 10 pinned.
  CHECK(excess("composition:prefix_tokens=160:tail_tokens=160:budget_tokens=320") == Range{30, 90});
  // Each layer alone holds no more than it sets aside, and limits nobody.
  for (const char* policy :
       {"lru", "arc", "tail-pin:tail_tokens=160", "prefix-resident:prefix_tokens=160",
        "composition:prefix_tokens=160:tail_tokens=160"}) {
    INFO(policy);
    const auto [from, to] = excess(policy);
    CHECK(from == to);
  }
  // A chain within its share, or within its prefix and tail alone.
  for (const std::uint64_t blocks : {0u, 5u, 15u, 40u}) {
    const auto [from, to] =
        excess("composition:prefix_tokens=160:tail_tokens=160:budget_tokens=320", blocks);
    CHECK(from == to);
  }
}

TEST_CASE("tail-pin: the tail moves as the chain grows", "[policies]") {
  // The last block stays; once the chain has grown to 4 that is block 4, and 2 may leave.
  PolicyRig rig("tail-pin:tail_tokens=16", 6, some_context());
  rig.look_up({0, 1, 2}, {});
  rig.store({2, 1, 0}, {});
  CHECK(rig.drain(1) == Slots{1});
  rig.store({4, 3}, {});
  const std::vector<BlockId> grown{BlockId{0}, BlockId{1}, BlockId{2}, BlockId{3}, BlockId{4}};
  rig->on_growth(grown, {});
  CHECK(rig.drain(4) == Slots{0, 3, 2, 4});
}

}  // namespace
}  // namespace spillway
