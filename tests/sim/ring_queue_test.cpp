// The ring queue: a deque in every respect but its memory.
#include "sim/ring_queue.hpp"

#include <deque>
#include <memory>
#include <utility>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

template <class T>
std::vector<T> items(const RingQueue<T>& queue) {
  std::vector<T> out;
  for (std::size_t i = 0; i < queue.size(); ++i) out.push_back(queue[i]);
  return out;
}

TEST_CASE("first in, first out", "[sim]") {
  RingQueue<int> queue;
  CHECK(queue.empty());
  for (int i = 1; i <= 3; ++i) queue.push_back(i);
  CHECK(queue.front() == 1);
  queue.pop_front();
  CHECK(items(queue) == std::vector<int>{2, 3});
}

TEST_CASE("a preempted request goes to the front again", "[sim]") {
  RingQueue<int> queue;
  queue.push_back(2);
  queue.push_front(1);
  CHECK(items(queue) == std::vector<int>{1, 2});
  CHECK(std::as_const(queue).front() == 1);
}

TEST_CASE("growing while wrapped keeps the order", "[sim]") {
  RingQueue<int> queue(4);
  for (int i = 0; i < 4; ++i) queue.push_back(i);
  queue.pop_front();
  queue.pop_front();
  queue.push_back(4);
  queue.push_back(5);  // now stored as 4 5 2 3
  queue.push_back(6);  // grows
  CHECK(items(queue) == std::vector<int>{2, 3, 4, 5, 6});
}

TEST_CASE("the smallest capacities still work", "[sim]") {
  for (const std::size_t capacity : {0u, 1u, 3u}) {
    RingQueue<int> queue(capacity);
    queue.push_front(1);
    queue.push_front(0);
    queue.push_back(2);
    CHECK(items(queue) == std::vector<int>{0, 1, 2});
  }
}

TEST_CASE("erasing takes out one item wherever it stands", "[sim]") {
  for (std::size_t position = 0; position < 5; ++position) {
    RingQueue<int> queue(4);
    queue.push_back(-1);
    queue.push_back(-1);
    queue.pop_front();
    queue.pop_front();  // so that the items wrap
    std::vector<int> expected = {0, 1, 2, 3, 4};
    for (const int i : expected) queue.push_back(i);
    queue.erase(position);
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(position));
    CHECK(items(queue) == expected);
  }
}

TEST_CASE("items that can only be moved are moved", "[sim]") {
  RingQueue<std::unique_ptr<int>> queue(1);
  for (int i = 0; i < 9; ++i) queue.push_back(std::make_unique<int>(i));
  queue.erase(4);
  CHECK(*queue[4] == 5);
  CHECK(queue.size() == 8);
}

TEST_CASE("a random history equals a deque's", "[sim]") {
  RingQueue<int> queue(2);
  std::deque<int> model;
  Stream random(1, "ring");
  bool same = true;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t what = random.below(5);
    if (what < 2) {
      queue.push_back(i);
      model.push_back(i);
    } else if (what == 2) {
      queue.push_front(i);
      model.push_front(i);
    } else if (!model.empty() && what == 3) {
      queue.pop_front();
      model.pop_front();
    } else if (!model.empty()) {
      const std::size_t at = random.below(model.size());
      queue.erase(at);
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
    }
    same = same && queue.size() == model.size();
    if (i % 97 == 0) {
      same = same && items(queue) == std::vector<int>(model.begin(), model.end());
    }
  }
  CHECK(same);
}

}  // namespace
}  // namespace spillway
