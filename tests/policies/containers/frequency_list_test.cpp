// The list by count and arrival against a plain map.
#include "policies/containers/frequency_list.hpp"

#include <map>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("the frequency list orders as counts and arrivals do", "[policies]") {
  constexpr std::uint32_t kIds = 40;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Stream random(seed, "frequency-list");
    FrequencyList list(kIds);
    struct Item {
      std::uint32_t count = 0;
      int arrival = 0;
    };
    std::map<std::uint32_t, Item> model;
    for (int step = 0; step < 2000; ++step) {
      const auto id = static_cast<std::uint32_t>(random.below(kIds));
      REQUIRE(list.contains(id) == (model.count(id) > 0));
      if (model.count(id) == 0) {
        const std::uint32_t count = random.chance(0.5) ? 1 : list.next_count(id);
        list.insert(id, count);
        model[id] = {count, step};
      } else if (random.chance(0.8)) {
        list.use(id);
        model[id] = {model[id].count + 1, step};
      } else {
        REQUIRE(list.count(id) == model[id].count);
        list.erase(id);
        REQUIRE(list.count(id) == model[id].count);
        model.erase(id);
      }
      if (step % 7 == 0 && !model.empty()) {
        const auto least =
            std::min_element(model.begin(), model.end(), [](const auto& a, const auto& b) {
              return std::pair(a.second.count, a.second.arrival) <
                     std::pair(b.second.count, b.second.arrival);
            });
        REQUIRE(list.front() == least->first);
        list.forget(least->first);
        REQUIRE(list.count(least->first) == 0);
        model.erase(least);
      }
    }
  }
}

}  // namespace
}  // namespace spillway
