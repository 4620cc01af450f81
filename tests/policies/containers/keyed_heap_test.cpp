// The keyed heap against a set.
#include "policies/containers/keyed_heap.hpp"

#include <set>
#include <vector>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

struct Item {
  std::uint64_t key = 0;
  std::uint32_t id = 0;
  auto operator<=>(const Item&) const = default;
};

TEST_CASE("the keyed heap names the least, whatever was pushed, set and erased", "[policies]") {
  constexpr std::uint32_t kIds = 100;
  Stream random(7, "keyed-heap");
  KeyedHeap<Item> heap(kIds / 2);
  heap.grow(kIds);
  std::vector<std::uint64_t> key_of(kIds);
  std::set<Item> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random.below(kIds));
    const Item item{random.below(50), id};  // ties go by id
    REQUIRE(heap.contains(id) == model.contains({key_of[id], id}));
    if (!heap.contains(id)) {
      heap.push(item);
    } else if (random.chance(0.5)) {
      model.erase({key_of[id], id});
      heap.set(item);
    } else {
      model.erase({key_of[id], id});
      heap.erase(id);
      continue;
    }
    key_of[id] = item.key;
    model.insert(item);
    REQUIRE(heap.front() == *model.begin());
    if (random.chance(0.1)) {
      REQUIRE(heap.pop() == *model.begin());
      model.erase(model.begin());
    }
    REQUIRE(heap.empty() == model.empty());
  }
}

}  // namespace
}  // namespace spillway
