// A heap by key with removal from the middle.
#include "policies/containers/index_heap.hpp"

#include <set>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("the index heap gives its ids back in order of their keys", "[policies]") {
  Stream random(3, "heap");
  IndexHeap heap(200);
  std::set<std::pair<std::uint64_t, std::uint32_t>> model;
  for (std::uint32_t id = 0; id < 200; ++id) {
    const std::uint64_t key = random.below(1'000'000) * 1000 + id;  // distinct
    heap.push(id, key);
    model.emplace(key, id);
  }
  for (std::uint32_t id = 0; id < 200; id += 3) {  // removal from the middle
    heap.erase(id);
    std::erase_if(model, [&](const auto& item) { return item.second == id; });
    CHECK_FALSE(heap.contains(id));
  }
  for (const auto& [key, id] : model) {
    REQUIRE(heap.front() == id);
    REQUIRE(heap.front_key() == key);
    heap.erase(id);
  }
  CHECK(heap.empty());
}

}  // namespace
}  // namespace spillway
