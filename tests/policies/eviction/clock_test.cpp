// CLOCK: what was used since the hand passed gets another round.
#include "tests/support/catch.hpp"
#include "tests/support/policy_cache.hpp"

namespace spillway::test {
namespace {

using Order = std::vector<std::uint32_t>;

TEST_CASE("CLOCK: a used block gets one round more, however often it was used", "[policies]") {
  PolicyRig clock("clock", 10);
  clock.store({1, 2, 3, 4});
  clock.touch({1});
  clock.touch({1, 3});
  // 1 is spared and goes behind 4; 2 leaves; 3 is spared; 4, then 1 and 3 without their bits.
  CHECK(clock.drain(4) == Order{2, 4, 1, 3});
}

TEST_CASE("CLOCK: a newcomer stands behind what the hand has spared", "[policies]") {
  PolicyCache clock("clock", 3, 10);
  // 1 is used; 4 pushes 2 out while 1 goes behind 3: 3 1 4. Then 3, 1, 4 leave in turn.
  CHECK(clock.refer({1, 2, 3, 1, 4, 5, 6, 7}) == Order{2, 3, 1, 4});
}

TEST_CASE("CLOCK: more bits count more uses", "[policies]") {
  PolicyRig clock("clock:bits=2", 10);
  clock.store({1, 2, 3});
  for (int i = 0; i < 7; ++i) clock.touch({1});  // three count
  clock.touch({2});
  // The hand: 1 (2 left), 2 (0 left), 3 leaves; 1 (1 left), 2 leaves; 1 (0 left), 1 leaves.
  CHECK(clock.drain(3) == Order{3, 2, 1});
  CHECK_THROWS_AS(PolicyRig("clock:bits=9", 4), InputError);
}

TEST_CASE("CLOCK: a pinned slot keeps its place and comes back used", "[policies]") {
  PolicyRig clock("clock", 10);
  clock.store({1, 2, 3});
  clock->remove(PolicyRig::slots({1, 2}), RemoveCause::kPinned);
  clock.store({4});
  clock->add(PolicyRig::slots({2}), {});
  // 2 stands first and is spared; 3 and 4 leave before it. 1 is pinned.
  CHECK(clock.drain(3) == Order{3, 4, 2});
}

TEST_CASE("CLOCK: a block that was invalidated comes back as new and unused", "[policies]") {
  PolicyRig clock("clock", 10);
  clock.store({1, 2});
  clock.touch({1});
  clock->remove(PolicyRig::slots({1}), RemoveCause::kInvalidated);
  clock.store({1});
  CHECK(clock.drain(2) == Order{2, 1});
}

}  // namespace
}  // namespace spillway::test
