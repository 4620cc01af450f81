// SIEVE: the hand evicts what was not visited since it passed, and leaves the rest in place.
#include "tests/support/catch.hpp"
#include "tests/support/policy_cache.hpp"

namespace spillway::test {
namespace {

using Order = std::vector<std::uint32_t>;

TEST_CASE("SIEVE: the hand clears visits on its way and stays where it evicted", "[policies]") {
  PolicyCache sieve("sieve", 5, 20);
  sieve.refer({1, 2, 3, 4, 5});
  sieve.refer({1, 2, 5});  // visited; oldest first: 1* 2* 3 4 5*
  // For 6 the hand clears 1 and 2 and evicts 3: 1 2 | 4 5* 6.
  CHECK(sieve.refer({6}) == Order{3});
  // For 7 it goes on with 4, not back to the older 1: 1 2 | 5* 6 7.
  CHECK(sieve.refer({7}) == Order{4});
  // For 8 it clears 5 and evicts the newcomer 6; 1, 2 and 5 have outlived it: 1 2 5 | 7 8.
  CHECK(sieve.refer({8}) == Order{6});
  CHECK(sieve.refer({9, 10}) == Order{7, 8});
  CHECK(sieve.holds(1));
}

TEST_CASE("SIEVE: from the newest the hand goes back to the oldest", "[policies]") {
  PolicyCache sieve("sieve", 3, 20);
  sieve.refer({1, 2, 3, 1, 2});  // 1* 2* 3
  // 3 is the newest when it leaves, so the next hand starts at 1, before 4 came: 1 2 4.
  CHECK(sieve.refer({4}) == Order{3});
  CHECK(sieve.refer({5}) == Order{1});
}

TEST_CASE("SIEVE: where all are visited the first of the second round leaves", "[policies]") {
  PolicyCache sieve("sieve", 3, 20);
  CHECK(sieve.refer({1, 2, 3, 1, 2, 3, 4}) == Order{1});
}

TEST_CASE("SIEVE: a pinned slot keeps its place and comes back visited", "[policies]") {
  PolicyRig sieve("sieve", 10);
  sieve.store({1, 2, 3});
  sieve->remove(PolicyRig::slots({1, 2}), RemoveCause::kPinned);
  CHECK(sieve.drain(1) == Order{3});  // the only one; the hand has passed 1 and 2
  sieve.store({4, 5});
  sieve->add(PolicyRig::slots({2}), {});
  // 3 was the newest, so the hand starts over: 2 is cleared, 4 and 5 leave, then 2.
  CHECK(sieve.drain(3) == Order{4, 5, 2});
}

TEST_CASE("SIEVE: a block that was invalidated comes back as new", "[policies]") {
  PolicyRig sieve("sieve", 10);
  sieve.store({1, 2});
  sieve.touch({1});
  sieve->remove(PolicyRig::slots({1}), RemoveCause::kInvalidated);
  sieve.store({1});
  CHECK(sieve.drain(2) == Order{2, 1});
}

}  // namespace
}  // namespace spillway::test
