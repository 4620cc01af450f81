// LRU: one list; runs of a chain move as runs.
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;

TEST_CASE("LRU: use and release both count as recent", "[policies]") {
  PolicyRig lru("lru", 10);
  lru.store({1, 2, 3, 4});
  lru.touch({2});
  lru->remove(PolicyRig::slots({1}), RemoveCause::kPinned);
  lru.store({1});  // released again: most recent
  CHECK(lru.drain(4) == std::vector<std::uint32_t>{3, 4, 2, 1});
}

TEST_CASE("LRU: a chain touched as a whole keeps its order, wherever its parts were",
          "[policies]") {
  PolicyRig lru("lru", 10);
  lru.store({0, 1, 2, 3, 4, 5, 6, 7});
  lru.touch({5, 6, 2, 3, 7});  // the runs 5-6 and 2-3 move as runs, 7 alone
  CHECK(lru.drain(8) == std::vector<std::uint32_t>{0, 1, 4, 5, 6, 2, 3, 7});
}

TEST_CASE("LRU: touching what is most recent already changes nothing", "[policies]") {
  PolicyRig lru("lru", 10);
  lru.store({0, 1, 2, 3});
  lru.touch({2, 3});
  lru.touch({3});
  CHECK(lru.drain(4) == std::vector<std::uint32_t>{0, 1, 2, 3});
}

}  // namespace
}  // namespace spillway
