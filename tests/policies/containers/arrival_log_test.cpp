// The log of arrivals against a plain list.
#include "policies/containers/arrival_log.hpp"

#include <algorithm>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

struct Entry {
  std::uint32_t id;
  std::uint32_t queue;
  bool away;
};

TEST_CASE("the arrival log keeps places as a plain list does", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Stream random(seed, "arrival-log");
    std::uint32_t ids = 20;
    ArrivalLog<2> log(ids);
    std::vector<Entry> model;  // oldest first
    const auto find = [&](auto wanted) { return std::find_if(model.begin(), model.end(), wanted); };
    const auto of = [](std::uint32_t id) { return [id](const Entry& e) { return e.id == id; }; };
    const auto in = [](std::uint32_t queue) {
      return [queue](const Entry& e) { return e.queue == queue && !e.away; };
    };
    for (int step = 0; step < 5000; ++step) {
      if (step % 1500 == 1499) log.grow(ids *= 3);
      const auto id = static_cast<std::uint32_t>(random.below(ids));
      const auto queue = static_cast<std::uint32_t>(random.below(2));
      const auto known = find(of(id));
      REQUIRE(log.holds(id) == (known != model.end()));
      if (known == model.end()) {
        log.push_back(queue, id);
        model.push_back({id, queue, false});
      } else if (known->away) {
        log.come_back(queue, id);  // it may change queues
        *known = {id, queue, false};
      } else if (random.chance(0.4)) {
        log.leave(known->queue, id);
        known->away = true;
      } else if (random.chance(0.4)) {
        log.erase(known->queue, id);
        model.erase(known);
      }
      const auto first = find(in(queue));
      REQUIRE(log.empty(queue) == (first == model.end()));
      if (first == model.end()) continue;
      REQUIRE(log.front(queue) == first->id);
      if (random.chance(0.2)) {
        log.pop_front(queue);
        model.erase(first);
      } else if (random.chance(0.2)) {
        log.front_to_back(queue, 1 - queue);
        const Entry moved{first->id, 1 - queue, false};
        model.erase(first);
        model.push_back(moved);
      }
    }
  }
}

TEST_CASE("the arrival log's hand stays between the same two places", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Stream random(seed, "arrival-hand");
    constexpr std::uint32_t kIds = 30;
    ArrivalLog<1> log(kIds);
    std::vector<std::pair<std::uint32_t, bool>> model;  // oldest first: id, away
    std::size_t hand = 0;                               // index of what is next
    for (int step = 0; step < 5000; ++step) {
      const auto id = static_cast<std::uint32_t>(random.below(kIds));
      const auto known = std::find_if(model.begin(), model.end(),
                                      [&](const auto& item) { return item.first == id; });
      if (known == model.end()) {
        log.push_back(0, id);
        model.emplace_back(id, false);
      } else if (known->second) {
        log.come_back(0, id);
        known->second = false;
      } else if (random.chance(0.3)) {
        log.leave(0, id);
        known->second = true;
      }
      if (log.empty(0)) continue;
      if (random.chance(0.5)) continue;
      while (hand < model.size() && model[hand].second) ++hand;
      if (hand == model.size()) hand = 0;
      while (model[hand].second) ++hand;
      REQUIRE(log.at_hand(0) == model[hand].first);
      if (random.chance(0.3)) {
        log.advance_hand();
        ++hand;
      } else {
        log.pop_at_hand(0);
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(hand));
      }
      if (hand == model.size()) hand = 0;
    }
  }
}

}  // namespace
}  // namespace spillway
