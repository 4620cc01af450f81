// W-TinyLFU step by step, against a plain version with exact counts, and in a tier with pins.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "models/cache_replay.hpp"
#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/policy_cache.hpp"

namespace spillway {
namespace {

using test::PolicyCache;
using test::PolicyRig;

constexpr std::nullopt_t kNobody = std::nullopt;

TEST_CASE("W-TinyLFU: a newcomer stays where it was used more than its victim", "[policies]") {
  // Five blocks: a window of 1, a main part of 4, of which 2 are protected.
  PolicyCache cache("wtinylfu:window=0.2:protected=0.5", 5, 20);
  for (const std::uint32_t block : {1U, 2U, 3U, 4U, 5U}) CHECK(cache.refer(block) == kNobody);
  // Window 5, on probation 1 2 3 4, each used once.
  CHECK(cache.refer(1) == kNobody);  // protected 1
  CHECK(cache.refer(2) == kNobody);  // protected 1 2
  CHECK(cache.refer(3) == kNobody);  // protected 2 3, and 1 is on probation again: 4 1
  CHECK(cache.refer(6) == 5u);       // 5 and 4 were used once each: 5 does not stay
  CHECK(cache.refer(6) == kNobody);  // used twice
  CHECK(cache.refer(7) == 4u);       // 6 twice, 4 once. On probation 1 6
  CHECK(cache.refer(8) == 7u);       // 7 once, 1 twice
  CHECK(cache.refer(7) == 8u);       // that 7 was here before is not forgotten: twice
  CHECK(cache.refer(9) == 7u);       // 7 twice, 1 twice
  CHECK(cache.refer(7) == 9u);       // three times
  CHECK(cache.refer(9) == 1u);       // 7 three times, 1 twice. On probation 6 7, window 9
  CHECK(cache.refer(7) == kNobody);  // protected 3 7, on probation 6 2
  CHECK(cache.refer(9) == kNobody);  // 9 is used the third time, in the window
  CHECK(cache.refer(10) == 6u);      // 9 three times, 6 twice. On probation 2 9
  CHECK(cache.refer(11) == 10u);
}

/// The same with deques and exact counts.
class Plain {
 public:
  Plain(std::size_t capacity, std::size_t window, std::size_t protect, std::uint32_t sample)
      : main_(capacity - window), window_most_(window), protected_most_(protect), sample_(sample) {}

  bool use(std::uint64_t x) {
    bool hit = true;
    if (take(window_, x)) {
      window_.push_back(x);
    } else if (take(probation_, x) || take(protected_, x)) {
      protected_.push_back(x);
      if (protected_.size() > protected_most_) move_front(protected_, probation_);
    } else {
      hit = false;
      if (window_.size() == window_most_) make_room();
      window_.push_back(x);
    }
    if (count_[x] < 15) {
      ++count_[x];
      ++uses_;
    }
    if (uses_ >= sample_) {
      for (auto& [block, count] : count_) count /= 2;
      uses_ /= 2;
    }
    return hit;
  }

 private:
  using List = std::deque<std::uint64_t>;
  static bool take(List& list, std::uint64_t x) { return std::erase(list, x) > 0; }
  static void move_front(List& from, List& to) {
    to.push_back(from.front());
    from.pop_front();
  }
  /// The window's oldest goes to the main part while that has room, then if it is worth it.
  void make_room() {
    if (main_ == 0) {
      window_.pop_front();
      return;
    }
    if (probation_.size() + protected_.size() == main_) {
      List& from = probation_.empty() ? protected_ : probation_;
      if (count_[window_.front()] <= count_[from.front()]) {
        window_.pop_front();
        return;
      }
      from.pop_front();
    }
    move_front(window_, probation_);
  }

  std::size_t main_, window_most_, protected_most_;
  std::uint32_t sample_;
  std::uint32_t uses_ = 0;
  std::map<std::uint64_t, std::uint32_t> count_;
  List window_, probation_, protected_;
};

Workload random_references(std::uint64_t seed) {
  Stream random(seed, "wtinylfu");
  std::vector<test::Row> rows;
  for (int i = 0; i < 2000; ++i) {
    // Half of the uses go to a few blocks that change; no more than 72 blocks, so that the sketch
    // counts exactly.
    const std::uint64_t some = 8 * static_cast<std::uint64_t>(i / 250) + random.below(8);
    rows.push_back({i, 16, 1, {random.chance(0.5) ? some : random.below(72)}});
  }
  return test::workload_of(rows, 16);
}

std::uint64_t hits_of(const Workload& workload, std::string_view policy, std::uint64_t capacity) {
  return replay_cache(workload, parse_eviction(policy, {}), capacity, TouchOrder::kForward,
                      Atomicity::kReference)
      .block_hits;
}

TEST_CASE("W-TinyLFU hits what the plain version hits", "[policies]") {
  struct Case {
    std::uint32_t capacity, window, protect;
  };
  // By the shares 0.1 and 0.8, rounded, a window of one block at least: of 15, 1.5 are 2 and of the
  // other 13, 10.4 are 10.
  for (const Case& c : {Case{1, 1, 0}, Case{3, 1, 2}, Case{15, 2, 10}, Case{40, 4, 29}}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(c.capacity, seed);
      const Workload workload = random_references(seed);
      Plain plain(c.capacity, c.window, c.protect, 10 * c.capacity);
      std::uint64_t hits = 0;
      for (std::uint32_t i = 0; i < workload.size(); ++i) {
        hits += plain.use(raw(workload.chain(RequestId{i}).front())) ? 1 : 0;
      }
      REQUIRE(hits_of(workload, "wtinylfu:window=0.1", c.capacity) == hits);
    }
  }
}

TEST_CASE("W-TinyLFU: a window of everything is LRU", "[policies]") {
  const Workload workload = random_references(1);
  for (const std::uint64_t capacity : {1u, 7u, 30u}) {
    CHECK(hits_of(workload, "wtinylfu:window=1", capacity) == hits_of(workload, "lru", capacity));
  }
}

TEST_CASE("W-TinyLFU: a batch of newcomers passes through the window as one by one", "[policies]") {
  // Ten blocks: a window of 2 (9 and 10), the others on probation. Of 9 and 10, which leave first,
  // 10 was used twice: it stays, and 1 leaves. The third victim is the main part's next, 2.
  PolicyRig rig("wtinylfu:window=0.2", 12, {.capacity = 10});
  rig.store({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  rig.touch({10});
  CHECK(rig.drain(3) == std::vector<std::uint32_t>{9, 1, 2});
}

TEST_CASE("W-TinyLFU: a pin counts as a use and comes back protected", "[policies]") {
  PolicyRig rig("wtinylfu:window=0.1", 12, {.capacity = 5});
  rig.store({1, 2, 3, 4, 5});  // window 5, on probation 1 2 3 4
  rig->remove(PolicyRig::slots({1}), RemoveCause::kPinned);
  rig->add(PolicyRig::slots({1}), {});
  CHECK(rig.drain(5) == std::vector<std::uint32_t>{5, 2, 3, 4, 1});
}

TEST_CASE("W-TinyLFU: blocks without names leave first", "[policies]") {
  PolicyRig rig("wtinylfu", 12, {.capacity = 5});
  rig.store({1, 2, 3});
  rig.contents()[SlotId{7}] = kNoBlock;
  rig->add(PolicyRig::slots({7}), {});
  rig.touch({7});
  CHECK(rig.drain(1) == std::vector<std::uint32_t>{7});
}

TEST_CASE("W-TinyLFU: parameters out of range are refused", "[policies]") {
  CHECK_THROWS_WITH(parse_eviction("wtinylfu:window=2", {"s.json", 3, "eviction"}),
                    "s.json:3: eviction: window: expected a number from 0 to 1, found \"2\"");
  CHECK_THROWS_AS(parse_eviction("wtinylfu:sample=0", {}), InputError);
}

}  // namespace
}  // namespace spillway
