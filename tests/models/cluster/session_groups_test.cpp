// Which instance a hash names for each session.
#include "models/cluster/session_groups.hpp"

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

std::ptrdiff_t served_by(const std::vector<InstanceId>& instances, std::uint32_t k) {
  return std::count(instances.begin(), instances.end(), InstanceId{k});
}

TEST_CASE("a session goes to one instance, and so do turns that wait for each other", "[models]") {
  // Forty chains of three turns each, interleaved; each names its predecessor only.
  std::vector<Turn> turns;
  for (std::uint64_t i = 0; i < 120; ++i) {
    turns.push_back({static_cast<std::int64_t>(i), 64, 4, {}, -1, {i}});
    if (i >= 40) turns.back().after = {i - 40};
  }
  const Workload workload = workload_of_turns(turns, 64);
  const auto instances = instances_by_session(workload, sessions_of(workload), 4, 1);
  REQUIRE(instances.size() == 120);
  for (std::uint32_t k = 0; k < 4; ++k) {
    CHECK(served_by(instances, k) > 0);
    CHECK(served_by(instances, k) % 3 == 0);
  }
  for (std::uint32_t i = 40; i < 120; ++i) CHECK(instances[i] == instances[i - 40]);
}

TEST_CASE("the instance depends on seed and session, on nothing else", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 400; ++i) rows.push_back({i, 64, 4, {i}});
  const Workload workload = workload_of(rows, 64);
  std::vector<std::uint32_t> sessions(400);
  for (std::uint32_t i = 0; i < 400; ++i) sessions[i] = i / 2;
  const auto one = instances_by_session(workload, sessions, 8, 1);
  CHECK(one == instances_by_session(workload, sessions, 8, 1));
  CHECK(one != instances_by_session(workload, sessions, 8, 2));
  // 200 sessions over 8: 25 each on average, with a deviation of sqrt(200 / 8 x 7 / 8) = 4.7. Four
  // of these on either side are 6 to 44 sessions, of two requests each.
  for (std::uint32_t k = 0; k < 8; ++k) {
    CHECK(served_by(one, k) >= 12);
    CHECK(served_by(one, k) <= 88);
  }
  // The first hundred requests alone go where they went.
  const std::vector<Row> fewer(rows.begin(), rows.begin() + 100);
  const auto part =
      instances_by_session(workload_of(fewer, 64), std::span(sessions).first(100), 8, 1);
  CHECK(std::equal(part.begin(), part.end(), one.begin()));
}

TEST_CASE("requests without sessions go each by itself", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 64; ++i) rows.push_back({i, 64, 4, {i}});
  const auto instances = instances_by_session(workload_of(rows, 64), {}, 2, 3);
  CHECK(served_by(instances, 0) > 16);
  CHECK(served_by(instances, 1) > 16);
}

}  // namespace
}  // namespace spillway::test
