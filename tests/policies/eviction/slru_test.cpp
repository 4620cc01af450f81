// Segmented LRU: a use lifts a block by one segment, a full segment passes its oldest down.
#include <algorithm>
#include <list>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/policy_cache.hpp"

namespace spillway::test {
namespace {

using Order = std::vector<std::uint32_t>;

TEST_CASE("SLRU: a use lifts a block by one segment and pushes the oldest there down",
          "[policies]") {
  PolicyCache slru("slru:segments=2", 4, 20);
  // While there is room the lowest segment with room takes newcomers. Oldest first: 1 2 | 3 4.
  slru.refer({1, 2, 3, 4});
  // 1 goes up and pushes 3 down: 2 3 | 4 1. Then 2 goes up and pushes 4 down: 3 4 | 1 2.
  slru.refer({1, 2});
  // 4 is used in the lower segment: 3 1 | 2 4.
  slru.refer({4});
  // Newcomers leave through the lower segment: 1 5 | 2 4, then 5 6 | 2 4, then 6 7 | 2 4.
  CHECK(slru.refer({5, 6, 7}) == Order{3, 1, 5});
  // Use in the top segment renews: 6 7 | 4 2. 7 goes up: 6 4 | 2 7.
  CHECK(slru.refer({2, 7, 8, 9}) == Order{6, 4});
}

TEST_CASE("SLRU: a push down goes on through full segments", "[policies]") {
  PolicyCache slru("slru:segments=3", 3, 20);
  // 1 | 2 | 3. A use of 1: it enters the middle, 2 comes down: 2 | 1 | 3. A use of 1 again: to the
  // top, 3 comes down to the middle: 2 | 3 | 1.
  slru.refer({1, 2, 3, 1, 1});
  CHECK(slru.refer({4, 5}) == Order{2, 4});
  CHECK(slru.rig().drain(3) == Order{5, 3, 1});
}

TEST_CASE("SLRU: a pinned slot comes back one segment up", "[policies]") {
  PolicyRig slru("slru:segments=2", 4);
  slru.store({0, 1, 2, 3});  // 0 1 | 2 3
  slru->remove(PolicyRig::slots({1}), RemoveCause::kPinned);
  slru->add(PolicyRig::slots({1}), {});  // 0 2 | 3 1
  CHECK(slru.drain(4) == Order{0, 2, 3, 1});
}

/// Segments as plain lists, oldest first; one reference at a time. Returns the hits.
std::uint64_t plain_slru(const Order& references, std::size_t capacity, std::size_t segments) {
  const std::size_t share = std::max<std::size_t>(1, capacity / segments);
  std::vector<std::list<std::uint32_t>> lists(segments);
  std::uint64_t hits = 0;
  for (const std::uint32_t block : references) {
    std::size_t held = 0;
    std::size_t to = segments;
    for (std::size_t i = 0; i < segments; ++i) {
      held += lists[i].size();
      const auto at = std::find(lists[i].begin(), lists[i].end(), block);
      if (at == lists[i].end()) continue;
      lists[i].erase(at);
      to = std::min(i + 1, segments - 1);
      ++hits;
    }
    if (to == segments) {  // a miss
      if (held == capacity) {
        std::find_if_not(lists.begin(), lists.end(), [](const auto& l) {
          return l.empty();
        })->pop_front();
      }
      to = 0;
      const std::size_t lowest = capacity - std::min(capacity, share * (segments - 1));
      if (lists[0].size() >= std::max(share, lowest)) {
        for (std::size_t i = segments - 1; i > 0; --i) {
          if (lists[i].size() < share) to = i;
        }
      }
    }
    lists[to].push_back(block);
    for (; to > 0 && lists[to].size() > share; --to) {
      lists[to - 1].push_back(lists[to].front());
      lists[to].pop_front();
    }
  }
  return hits;
}

TEST_CASE("SLRU: hits equal those of plain lists", "[policies]") {
  Stream random(7, "slru");
  Order references;
  for (int i = 0; i < 4000; ++i) {
    references.push_back(
        static_cast<std::uint32_t>(random.chance(0.6) ? random.below(15) : random.below(80)));
  }
  for (const std::uint32_t capacity : {1U, 3U, 8U, 17U, 40U}) {
    for (const std::uint32_t segments : {1U, 2U, 4U, 7U}) {
      CAPTURE(capacity, segments);
      PolicyCache slru(fmt::format("slru:segments={}", segments), capacity, 80);
      std::uint64_t hits = 0;
      for (const std::uint32_t block : references) {
        hits += slru.holds(block) ? 1 : 0;
        slru.refer(block);
      }
      CHECK(hits == plain_slru(references, capacity, segments));
    }
  }
}

}  // namespace
}  // namespace spillway::test
