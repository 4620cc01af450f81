// LFU: the count of uses in the tier decides, among equals the order in which they came to it.
#include "tests/support/catch.hpp"
#include "tests/support/policy_cache.hpp"

namespace spillway::test {
namespace {

using Order = std::vector<std::uint32_t>;

TEST_CASE("LFU: the least used leaves first, among equals the least recently used", "[policies]") {
  PolicyRig lfu("lfu", 10);
  lfu.store({1, 2, 3, 4});
  lfu.touch({3, 1});
  lfu.touch({2});
  lfu.touch({1});
  // Counts: 1 has 3; 3 and 2 have 2, and 3 came to it first; 4 has 1.
  CHECK(lfu.drain(4) == Order{4, 3, 2, 1});
}

TEST_CASE("LFU: a newcomer is not its own victim, and a count is lost with its block",
          "[policies]") {
  PolicyCache lfu("lfu", 2, 10);
  // 1 and 2 have 2 uses. 3 pushes 1 out, the earlier of them; 4 then takes the newcomer 3; 1 comes
  // back with a count of one and is the next to leave, for 3.
  CHECK(lfu.refer({1, 2, 1, 2, 3, 4, 1, 3}) == Order{1, 3, 4, 1});
  CHECK(lfu.holds(2));
}

TEST_CASE("LFU: a pinned slot keeps its count and comes back with one more", "[policies]") {
  PolicyRig lfu("lfu", 10);
  lfu.store({1, 2, 3});
  lfu.touch({1, 2, 2});
  lfu->remove(PolicyRig::slots({1, 3}), RemoveCause::kPinned);
  lfu->add(PolicyRig::slots({3, 1}), {});
  // 3 has 2; 2 has 3, and 1 has come to 3 after it.
  CHECK(lfu.drain(3) == Order{3, 2, 1});
}

TEST_CASE("LFU: an invalidated block is forgotten, a nameless one leaves first", "[policies]") {
  PolicyRig lfu("lfu", 10);
  lfu.store({1, 2});
  lfu.touch({1, 2});
  lfu->remove(PolicyRig::slots({1}), RemoveCause::kInvalidated);
  lfu.store({1, 3});
  lfu->add(PolicyRig::slots({4}), {});  // its contents have no name
  CHECK(lfu.drain(4) == Order{4, 1, 3, 2});
}

}  // namespace
}  // namespace spillway::test
