// Sessions split over instances.
#include "models/session_split.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

std::vector<std::uint32_t> sessions_of(const Workload& workload) {
  const auto column = workload.columns().session;
  return {column.begin(), column.end()};
}

TEST_CASE("a session goes to one instance, and so do turns that wait for each other", "[models]") {
  // Forty chains of three turns each, interleaved; each names its predecessor only.
  std::vector<Turn> turns;
  for (std::uint64_t i = 0; i < 120; ++i) {
    turns.push_back({static_cast<std::int64_t>(i), 64, 4, {}, -1, {i}});
    if (i >= 40) turns.back().after = {i - 40};
  }
  const Workload workload = workload_of_turns(turns, 64);
  const SessionSplit split = split_sessions(workload, sessions_of(workload), 4, 1);
  std::size_t served = 0;
  for (std::uint32_t k = 0; k < 4; ++k) {
    served += split.members[k].size();
    CHECK(split.members[k].size() % 3 == 0);
    CHECK(split.parts[k].size() == split.members[k].size());
    CHECK(!split.members[k].empty());
  }
  CHECK(served == 120);
  for (std::uint32_t i = 40; i < 120; ++i) CHECK(split.instance[i] == split.instance[i - 40]);
  for (std::uint32_t i = 0; i < 120; ++i) {
    CHECK(split.members[split.instance[i]][raw(split.local[i])] == RequestId{i});
  }
}

TEST_CASE("the split depends on seed and session, on nothing else", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 400; ++i) rows.push_back({i, 64, 4, {i}});
  const Workload workload = workload_of(rows, 64);
  std::vector<std::uint32_t> sessions(400);
  for (std::uint32_t i = 0; i < 400; ++i) sessions[i] = i / 2;
  const SessionSplit one = split_sessions(workload, sessions, 8, 1);
  CHECK(one.instance == split_sessions(workload, sessions, 8, 1).instance);
  CHECK(one.instance != split_sessions(workload, sessions, 8, 2).instance);
  // 200 sessions over 8: 25 each on average, with a deviation of sqrt(200 / 8 x 7 / 8) = 4.7. Four
  // of these on either side are 6 to 44 sessions, of two requests each.
  for (const auto& members : one.members) {
    CHECK(members.size() >= 12);
    CHECK(members.size() <= 88);
  }
  // The first hundred requests alone go where they went.
  const std::vector<Row> fewer(rows.begin(), rows.begin() + 100);
  const SessionSplit part =
      split_sessions(workload_of(fewer, 64), std::span(sessions).first(100), 8, 1);
  CHECK(std::equal(part.instance.begin(), part.instance.end(), one.instance.begin()));
}

TEST_CASE("requests without sessions go each by itself", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 64; ++i) rows.push_back({i, 64, 4, {i}});
  const SessionSplit split = split_sessions(workload_of(rows, 64), {}, 2, 3);
  CHECK(split.members[0].size() > 16);
  CHECK(split.members[1].size() > 16);
}

}  // namespace
}  // namespace spillway::test
