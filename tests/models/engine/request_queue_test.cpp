// Queues of waiting requests: by arrival, and by priority.
#include "models/requests/request_queue.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Requests 0, 1, ... with these priorities, arrived at these milliseconds.
RequestPool pool_of(const std::vector<std::pair<std::int32_t, int>>& requests) {
  RequestPool pool(1);
  std::uint32_t id = 0;
  for (const auto& [priority, arrival_ms] : requests) {
    ActiveRequest& r = pool[pool.make()];
    r.id = RequestId{id++};
    r.priority = priority;
    r.arrival = Time{} + std::chrono::milliseconds(arrival_ms);
  }
  return pool;
}

std::vector<std::uint32_t> drain(RequestQueue& queue) {
  std::vector<std::uint32_t> out;
  for (; !queue.empty(); queue.pop_front())
    out.push_back(static_cast<std::uint32_t>(queue.front()));
  return out;
}

TEST_CASE("first come, first served: who was preempted returns to the front", "[models]") {
  const RequestPool pool = pool_of({{5, 0}, {0, 1}, {9, 2}});
  RequestQueue queue(pool, false);
  queue.push_back(Handle{0});
  queue.push_back(Handle{1});
  queue.push_front(Handle{2});
  CHECK(queue.size() == 3);
  CHECK(drain(queue) == std::vector<std::uint32_t>{2, 0, 1});
}

TEST_CASE("by priority: value, then arrival, then place in the workload", "[models]") {
  // 3 has the smallest value; 1 and 4 share priority and arrival, so the first of them goes first;
  // 0 came later; 2 is least important though it came first, and stays so when it is prepended.
  const RequestPool pool = pool_of({{1, 7}, {1, 4}, {2, 0}, {-1, 9}, {1, 4}});
  RequestQueue queue(pool, true);
  for (const std::uint32_t i : {4U, 0U, 1U, 3U}) queue.push_back(Handle{i});
  queue.push_front(Handle{2});
  std::vector<Handle> listed;
  queue.list(listed);
  const auto order = drain(queue);
  CHECK(order == std::vector<std::uint32_t>{3, 1, 4, 0, 2});
  REQUIRE(listed.size() == order.size());
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(listed[i] == Handle{order[i]});
}

TEST_CASE("a request can leave from anywhere, and only once", "[models]") {
  for (const bool by_priority : {false, true}) {
    const RequestPool pool = pool_of({{0, 0}, {0, 1}, {0, 2}, {0, 3}});
    RequestQueue queue(pool, by_priority);
    for (std::uint32_t i = 0; i < 4; ++i) queue.push_back(Handle{i});
    CHECK(queue.erase(Handle{1}));
    CHECK_FALSE(queue.erase(Handle{1}));
    CHECK(drain(queue) == std::vector<std::uint32_t>{0, 2, 3});
  }
}

TEST_CASE("of two queues by priority, the one with the smaller front goes first", "[models]") {
  const RequestPool pool = pool_of({{1, 0}, {0, 5}, {1, 0}});
  RequestQueue waiting(pool, true);
  RequestQueue skipped(pool, true);
  waiting.push_back(Handle{1});
  skipped.push_back(Handle{0});
  CHECK(waiting.precedes(skipped));  // 0 < 1, although it came later
  CHECK_FALSE(skipped.precedes(waiting));
  waiting.pop_front();
  waiting.push_back(Handle{2});
  CHECK(skipped.precedes(waiting));  // all equal: the earlier in the workload
}

}  // namespace
}  // namespace spillway::test
