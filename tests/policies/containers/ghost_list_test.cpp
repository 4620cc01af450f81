// The ghost queue against a plain one.
#include "policies/containers/ghost_list.hpp"

#include <algorithm>
#include <deque>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("the ghost queue remembers as a plain queue does", "[policies]") {
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{9},
                                   std::uint64_t{25}, std::uint64_t{1} << 40}) {
    Stream random(most, "ghosts");
    std::uint32_t blocks = 10;
    GhostList ghosts(most, blocks);
    std::deque<std::uint32_t> model;
    for (int step = 0; step < 3000; ++step) {
      if (step % 100 == 99 && blocks < 60) ghosts.grow(blocks += 5);
      const auto block = static_cast<std::uint32_t>(random.below(blocks));
      const auto at = std::find(model.begin(), model.end(), block);
      REQUIRE(ghosts.contains(BlockId{block}) == (at != model.end()));
      const bool known = at != model.end();
      if (random.chance(0.3)) {
        REQUIRE(ghosts.take(BlockId{block}) == known);
        if (known) model.erase(at);
      } else {
        ghosts.push(BlockId{block});
        if (known) model.erase(at);
        model.push_back(block);
        if (model.size() > most) model.pop_front();
      }
      REQUIRE(ghosts.size() == model.size());
    }
  }
}

TEST_CASE("a recalled ghost holds no place and can still be taken once", "[policies]") {
  GhostList ghosts(2, 10);
  for (const std::uint32_t block : {1U, 2U}) ghosts.push(BlockId{block});
  ghosts.recall(BlockId{1});
  ghosts.recall(BlockId{3});  // never was there
  ghosts.push(BlockId{4});    // so that nothing is forgotten for it
  CHECK(ghosts.contains(BlockId{2}));
  CHECK_FALSE(ghosts.contains(BlockId{1}));
  CHECK(ghosts.take(BlockId{1}));
  CHECK_FALSE(ghosts.take(BlockId{1}));
  CHECK_FALSE(ghosts.take(BlockId{3}));
  CHECK(ghosts.size() == 2);
}

}  // namespace
}  // namespace spillway
