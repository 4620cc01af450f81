// Conformance over the catalogue: random histories against a naive set, then each policy's own
// rule.
#include <set>

#include "policies/catalogue.hpp"
#include "policies/containers/index_heap.hpp"
#include "policies/containers/index_list.hpp"
#include "sim/rng.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;

/// 1,000 requests in 20 sessions and 3 categories.
const RequestFacts& some_requests() {
  static const RequestFacts facts = [] {
    RequestFacts out;
    out.session.assign(1000, SessionId{});
    out.turn.assign(1000, 0);
    out.category.assign(1000, 0);
    out.sessions = 20;
    out.categories = 3;
    out.sessions_named = true;
    for (std::uint32_t i = 0; i < 1000; ++i) {
      out.session[RequestId{i}] = SessionId{i % 20};
      out.turn[RequestId{i}] = i / 20;
      out.category[RequestId{i}] = i % 20 % 3;
    }
    return out;
  }();
  return facts;
}

PolicyRig make(std::string_view name, std::uint32_t slots) {
  EvictionContext context;
  context.requests = &some_requests();
  return PolicyRig(name, slots, context);
}

std::vector<SlotId> ids(std::initializer_list<std::uint32_t> list) {
  std::vector<SlotId> out;
  for (const std::uint32_t id : list) out.push_back(SlotId{id});
  return out;
}

std::vector<std::uint32_t> drain(PolicyRig& rig, std::size_t count) {
  return rig.drain(count);
}

TEST_CASE("every policy names each evictable slot exactly once", "[policies]") {
  constexpr std::uint32_t kSlots = 64;
  for (const EvictionEntry& entry : eviction_policies()) {
    CAPTURE(entry.name);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Stream random(seed, "policy-history");
      if (entry.needs.future) continue;
      PolicyRig policy = make(entry.name, kSlots);
      std::set<std::uint32_t> evictable;
      std::set<std::uint32_t> pinned;
      for (int step = 0; step < 400; ++step) {
        const Access access{time_at(step), RequestId{static_cast<std::uint32_t>(step)}};
        // A few distinct slots in one call, as a chain.
        std::vector<SlotId> chain;
        std::set<std::uint32_t> used;
        for (std::uint64_t i = random.below(5); i > 0; --i) {
          const auto slot = static_cast<std::uint32_t>(random.below(kSlots));
          if (used.insert(slot).second) chain.push_back(SlotId{slot});
        }
        const auto keep = [&](const std::set<std::uint32_t>& in, bool wanted) {
          std::vector<SlotId> out;
          for (const SlotId slot : chain) {
            if ((in.count(raw(slot)) > 0) == wanted) out.push_back(slot);
          }
          return out;
        };
        switch (random.below(4)) {
          case 0: {
            const auto fresh = keep(evictable, false);
            for (const SlotId slot : fresh) {
              // A pinned slot keeps its block; others hold any.
              if (pinned.count(raw(slot)) > 0) continue;
              policy.contents()[slot] = BlockId{static_cast<std::uint32_t>(random.below(kSlots))};
            }
            if (!fresh.empty()) policy->add(fresh, access);
            for (const SlotId slot : fresh) {
              evictable.insert(raw(slot));
              pinned.erase(raw(slot));
            }
            break;
          }
          case 1: {
            const auto touched = keep(evictable, true);
            if (!touched.empty()) policy->touch(touched, access);
            break;
          }
          case 2: {
            const auto gone = keep(evictable, true);
            const bool pin = random.chance(0.5);
            if (!gone.empty()) {
              policy->remove(gone, pin ? RemoveCause::kPinned : RemoveCause::kInvalidated);
            }
            for (const SlotId slot : gone) {
              evictable.erase(raw(slot));
              if (pin) pinned.insert(raw(slot));
            }
            break;
          }
          default: {
            const std::size_t count = std::min<std::size_t>(random.below(4), evictable.size());
            for (const std::uint32_t victim : drain(policy, count)) {
              REQUIRE(evictable.erase(victim) == 1);
            }
          }
        }
      }
      std::set<std::uint32_t> rest;
      for (const std::uint32_t victim : drain(policy, evictable.size())) rest.insert(victim);
      REQUIRE(rest == evictable);
    }
  }
}

TEST_CASE("a policy that grows orders slots as one that was large from the start", "[policies]") {
  for (const EvictionEntry& entry : eviction_policies()) {
    CAPTURE(entry.name);
    if (entry.needs.future) continue;
    PolicyRig large = make(entry.name, 64);
    PolicyRig grown = make(entry.name, 4);
    Stream random(5, "policy-grow");
    std::uint32_t slots = 0;
    for (int step = 0; step < 64; ++step) {
      if (slots == 4 || slots == 16) grown.grow(4 * slots);
      const std::vector<SlotId> fresh = {SlotId{slots++}};
      const std::vector<SlotId> used = {SlotId{static_cast<std::uint32_t>(random.below(slots))}};
      for (PolicyRig* rig : {&large, &grown}) {
        EvictionPolicy& policy = rig->policy();
        rig->contents()[fresh.front()] = BlockId{raw(fresh.front())};
        policy.add(fresh, {});
        policy.touch(used, {});
        if (step % 5 == 4) {  // a pin, while the order matters
          policy.remove(used, RemoveCause::kPinned);
          policy.add(used, {});
        }
      }
    }
    CHECK(drain(grown, 64) == drain(large, 64));
  }
}

TEST_CASE("LRU: use and release both count as recent", "[policies]") {
  PolicyRig lru = make("lru", 10);
  lru->add(ids({1, 2, 3, 4}), {});
  lru->touch(ids({2}), {});
  lru->remove(ids({1}), RemoveCause::kPinned);
  lru->add(ids({1}), {});  // released again: most recent
  CHECK(drain(lru, 4) == std::vector<std::uint32_t>{3, 4, 2, 1});
}

TEST_CASE("LRU: a chain touched as a whole keeps its order, wherever its parts were",
          "[policies]") {
  PolicyRig lru = make("lru", 10);
  lru->add(ids({0, 1, 2, 3, 4, 5, 6, 7}), {});
  lru->touch(ids({5, 6, 2, 3, 7}), {});  // the runs 5-6 and 2-3 move as runs, 7 alone
  CHECK(drain(lru, 8) == std::vector<std::uint32_t>{0, 1, 4, 5, 6, 2, 3, 7});
}

TEST_CASE("LRU: touching what is most recent already changes nothing", "[policies]") {
  PolicyRig lru = make("lru", 10);
  lru->add(ids({0, 1, 2, 3}), {});
  lru->touch(ids({2, 3}), {});
  lru->touch(ids({3}), {});
  CHECK(drain(lru, 4) == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("FIFO: use does not count, and a pin does not renew", "[policies]") {
  PolicyRig fifo = make("fifo", 10);
  fifo->add(ids({1, 2, 3}), {});
  fifo->touch(ids({1}), {});
  fifo->remove(ids({1, 2}), RemoveCause::kPinned);
  fifo->add(ids({4}), {});
  fifo->add(ids({2}), {});  // back from a pin with its old age; 1 stays pinned
  CHECK(drain(fifo, 3) == std::vector<std::uint32_t>{2, 3, 4});
  fifo->add(ids({1}), {});
  fifo->add(ids({2}), {});  // evicted meanwhile, so it is new
  CHECK(drain(fifo, 2) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("FIFO: a block that was invalidated comes back as new", "[policies]") {
  PolicyRig fifo = make("fifo", 10);
  fifo->add(ids({1, 2}), {});
  fifo->remove(ids({1}), RemoveCause::kInvalidated);
  fifo->add(ids({1}), {});
  CHECK(drain(fifo, 2) == std::vector<std::uint32_t>{2, 1});
}

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

TEST_CASE("an unknown policy names the nearest and lists what is known", "[policies]") {
  REQUIRE_THROWS_WITH(find_row(eviction_policies(), "eviction policy", "lruu", {"s.json", 7, "x"}),
                      "s.json:7: x: unknown eviction policy \"lruu\"; did you mean \"lru\"? known: "
                      "fifo, lru");
}

}  // namespace
}  // namespace spillway
