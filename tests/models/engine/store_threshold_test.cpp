// The bounded tracker behind store_threshold.
#include "policies/write_admission/store_threshold.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Ids = std::vector<BlockId>;

Ids ids(std::initializer_list<std::uint32_t> list) {
  Ids out;
  for (const std::uint32_t id : list) out.push_back(BlockId{id});
  return out;
}

Ids passing(const StoreThreshold& t, std::uint32_t blocks) {
  Ids out;
  for (std::uint32_t id = 0; id < blocks; ++id) {
    if (t.passes(BlockId{id})) out.push_back(BlockId{id});
  }
  return out;
}

TEST_CASE("an offer counts each of its chunks once", "[models]") {
  StoreThreshold t(2, true, 100, 10);
  t.see_offer(ids({0, 1, 2}));
  CHECK(passing(t, 10).empty());
  t.see_offer(ids({1, 2, 3}));
  CHECK(passing(t, 10) == ids({1, 2}));
  // A refused batch that comes again, larger, counts once more.
  t.see_offer(ids({1, 2, 3, 4}));
  CHECK(passing(t, 10) == ids({1, 2, 3}));
}

TEST_CASE("the tracker forgets what was seen longest ago", "[models]") {
  StoreThreshold t(2, false, 2, 10);
  for (const std::uint32_t id : {0U, 1U, 0U, 2U}) t.see_lookup(BlockId{id});  // 1 gives way
  CHECK(passing(t, 10) == ids({0}));
  t.see_lookup(BlockId{1});  // as new; 0 gives way, and with it its count
  CHECK(passing(t, 10).empty());
  t.see_lookup(BlockId{2});
  CHECK(passing(t, 10) == ids({2}));
}

TEST_CASE("an offer pushes out others, never its own", "[models]") {
  StoreThreshold t(2, true, 3, 10);
  t.see_offer(ids({7}));
  t.see_offer(ids({0, 1}));
  // 0 and 1 are there and counted; 2 takes 7's place, 3 finds none that is not of this offer.
  t.see_offer(ids({0, 1, 2, 3}));
  CHECK(passing(t, 10) == ids({0, 1}));
  t.see_offer(ids({2, 3}));  // 2 again; 3 takes the place of 0, the oldest
  CHECK(passing(t, 10) == ids({1, 2}));
}

}  // namespace
}  // namespace spillway::test
