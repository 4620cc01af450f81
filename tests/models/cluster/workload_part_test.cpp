// Parts of workloads.
#include "tests/support/workload_part.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a part keeps rows and links, and numbers its blocks anew", "[sim]") {
  // Requests 1 and 3 of four; 3 waited for 1 and 2, of which 2 is elsewhere.
  const Workload whole = workload_of_turns({{0, 128, 4, {}, -1, {7, 8}},
                                            {1, 128, 5, {}, -1, {9, 8}},
                                            {2, 64, 6, {}, -1, {7}},
                                            {3, 192, 7, {1, 2}, 250, {9, 8, 5}}},
                                           64);
  const std::vector<RequestId> members = {RequestId{1}, RequestId{3}};
  const Workload part = part_of(whole, members);
  REQUIRE(part.size() == 2);
  CHECK(part.arrival(RequestId{1}) == whole.arrival(RequestId{3}));
  CHECK(part.output_tokens(RequestId{0}) == 5);
  CHECK(part.think_ns(RequestId{1}) == 250'000'000);
  REQUIRE(part.after(RequestId{1}).size() == 1);
  CHECK(part.after(RequestId{1})[0] == RequestId{0});
  CHECK(part.unique_blocks() == 3);
  const auto first = part.chain(RequestId{0});
  const auto second = part.chain(RequestId{1});
  CHECK(raw(first[0]) == 0);
  CHECK(raw(first[1]) == 1);
  CHECK(std::equal(first.begin(), first.end(), second.begin()));
  CHECK(raw(second[2]) == 2);
}

TEST_CASE("a whole workload is a part of itself", "[sim]") {
  const Workload whole =
      workload_of({{0, 64, 4, {0}, "a"}, {5, 128, 8, {0, 1}, "b"}, {9, 64, 2, {2}, "a"}}, 64);
  const std::vector<RequestId> all = {RequestId{0}, RequestId{1}, RequestId{2}};
  CHECK(part_of(whole, all).content_hash() == whole.content_hash());
}

}  // namespace
}  // namespace spillway::test
