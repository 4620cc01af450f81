// ARC step by step as figure 4 of its paper goes, against a plain version, and where a tier differs
// from the paper's cache.
#include <algorithm>
#include <deque>
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

TEST_CASE("ARC: figure 4, case by case", "[policies]") {
  // c = 3. Lists are written from least to most recent; p starts at 0.
  PolicyCache arc("arc", 3, 20);
  CHECK(arc.refer(1) == kNobody);
  CHECK(arc.refer(2) == kNobody);
  CHECK(arc.refer(1) == kNobody);  // I: T1 = 2, T2 = 1
  CHECK(arc.refer(3) == kNobody);  // T1 = 2 3, T2 = 1: full
  // IV B: |L1| = 2 < c, 3 blocks in all. |T1| = 2 > p = 0: 2 leaves for B1.
  CHECK(arc.refer(4) == 2u);  // T1 = 3 4, T2 = 1, B1 = 2
  // IV A: |L1| = c and |T1| < c: B1 forgets 2, then 3 leaves for B1.
  CHECK(arc.refer(5) == 3u);  // T1 = 4 5, T2 = 1, B1 = 3
  // II: p = 0 + max(1, 0 / 1) = 1. |T1| = 2 > 1: 4 leaves; 3 enters T2.
  CHECK(arc.refer(3) == 4u);  // T1 = 5, T2 = 1 3, B1 = 4
  // II: p = 2. |T1| = 1: the victim is T2's, 1.
  CHECK(arc.refer(4) == 1u);  // T1 = 5, T2 = 3 4, B2 = 1
  // IV B: |L1| = 1, 4 in all; |T1| = 1 < p: 3 leaves T2.
  CHECK(arc.refer(6) == 3u);  // T1 = 5 6, T2 = 4, B2 = 1 3
  // III: p = 2 - max(1, 0 / 2) = 1. |T1| = 2 > 1: 5 leaves.
  CHECK(arc.refer(1) == 5u);  // T1 = 6, T2 = 4 1, B1 = 5, B2 = 3
  // III: p = 1 - max(1, 1 / 1) = 0. |T1| = 1 > 0: 6 leaves.
  CHECK(arc.refer(3) == 6u);  // T1 empty, T2 = 4 1 3, B1 = 5 6
  CHECK(arc.refer(7) == 4u);  // IV B, T1 is empty. T1 = 7, T2 = 1 3, B1 = 5 6, B2 = 4
  CHECK(arc.refer(8) == 7u);  // IV A: B1 forgets 5. T1 = 8, T2 = 1 3, B1 = 6 7, B2 = 4
  CHECK(arc.refer(9) == 8u);  // IV A: B1 forgets 6. T1 = 9, T2 = 1 3, B1 = 7 8, B2 = 4
  // II: p = 0 + max(1, 1 / 2) = 1; |T1| = 1 is not beyond it, and 7 was not in B2: T2 gives 1.
  CHECK(arc.refer(7) == 1u);  // T1 = 9, T2 = 3 7, B1 = 8, B2 = 4 1
  // IV B: |L1| = 2, 2c = 6 in all: B2 forgets 4. |T1| = p: T2 gives 3.
  CHECK(arc.refer(10) == 3u);  // T1 = 9 10, T2 = 7, B1 = 8, B2 = 1 3
  // II: p = 1 + max(1, 2 / 1) = 3: T2 gives 7.
  CHECK(arc.refer(8) == 7u);  // T1 = 9 10, T2 = 8, B2 = 1 3 7
  // III: p = 3 - 1 = 2. |T1| = 2 = p and 1 was in B2: T1 gives 9.
  CHECK(arc.refer(1) == 9u);
  // 4 was forgotten, so that it is new: IV B, |T1| = 1 < p, T2 = 8 1 gives 8.
  CHECK(arc.refer(4) == 8u);
}

TEST_CASE("ARC: where T1 alone fills the cache its victim leaves no ghost", "[policies]") {
  // c = 2, case IV A with |T1| = c.
  PolicyCache arc("arc", 2, 20);
  arc.refer(1);
  arc.refer(2);
  CHECK(arc.refer(3) == 1u);  // T1 = 2 3
  CHECK(arc.refer(1) == 2u);  // T1 = 3 1: had 1 a ghost, it would be in T2
  CHECK(arc.refer(4) == 3u);  // T1 = 1 4
  CHECK(arc.refer(5) == 1u);  // and here 4 would leave
}

/// The figure again, with lists searched and copied.
class PlainArc {
 public:
  explicit PlainArc(std::size_t c) : c_(c) {}

  bool use(std::uint64_t x) {
    if (take(t1_, x) || take(t2_, x)) {
      t2_.push_back(x);
      return true;
    }
    const double b1 = static_cast<double>(b1_.size());
    const double b2 = static_cast<double>(b2_.size());
    if (has(b1_, x)) {
      p_ = std::min(p_ + (b1 >= b2 ? 1 : b2 / b1), static_cast<double>(c_));
      replace(false);
      take(b1_, x);
      t2_.push_back(x);
    } else if (has(b2_, x)) {
      p_ = std::max(p_ - (b2 >= b1 ? 1 : b1 / b2), 0.0);
      replace(true);
      take(b2_, x);
      t2_.push_back(x);
    } else {
      const std::size_t l1 = t1_.size() + b1_.size();
      const std::size_t all = l1 + t2_.size() + b2_.size();
      if (l1 == c_ && t1_.size() < c_) {
        b1_.pop_front();
        replace(false);
      } else if (l1 == c_) {
        t1_.pop_front();
      } else if (all >= c_) {
        if (all == 2 * c_) b2_.pop_front();
        replace(false);
      }
      t1_.push_back(x);
    }
    return false;
  }

 private:
  using List = std::deque<std::uint64_t>;
  static bool has(const List& list, std::uint64_t x) {
    return std::find(list.begin(), list.end(), x) != list.end();
  }
  static bool take(List& list, std::uint64_t x) { return std::erase(list, x) > 0; }
  void replace(bool from_b2) {
    const auto t1 = static_cast<double>(t1_.size());
    const bool once = t1 >= 1 && (t1 > p_ || (from_b2 && t1 == p_));
    List& from = once ? t1_ : t2_;
    (once ? b1_ : b2_).push_back(from.front());
    from.pop_front();
  }

  std::size_t c_;
  double p_ = 0;
  List t1_, t2_, b1_, b2_;
};

TEST_CASE("ARC hits what the plain figure hits", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Stream random(seed, "arc");
    std::vector<test::Row> rows;
    std::uint64_t fresh = 1000;
    for (int i = 0; i < 1500; ++i) {
      // Phases that favour recency, then frequency; scans between.
      const std::uint64_t set = i / 300 % 2 == 0 ? 12 : 40;
      const std::uint64_t block = random.chance(0.2) ? fresh++ : random.below(set);
      rows.push_back({i, 16, 1, {block}});
    }
    const Workload workload = test::workload_of(rows, 16);
    for (const std::size_t c : {1u, 2u, 5u, 9u, 17u, 30u}) {
      CAPTURE(seed, c);
      PlainArc plain(c);
      std::uint64_t hits = 0;
      for (const test::Row& row : rows) hits += plain.use(row.blocks.front()) ? 1 : 0;
      REQUIRE(replay_cache(workload, parse_eviction("arc", {}), c, TouchOrder::kForward,
                           Atomicity::kReference)
                  .block_hits == hits);
    }
  }
}

TEST_CASE("ARC: a pin counts as a use", "[policies]") {
  PolicyRig arc("arc", 10);
  arc.store({1, 2, 3});
  arc->remove(PolicyRig::slots({1}), RemoveCause::kPinned);
  arc->add(PolicyRig::slots({1}), {});
  arc.store({4});
  CHECK(arc.drain(4) == std::vector<std::uint32_t>{2, 3, 4, 1});  // T1 = 2 3 4, T2 = 1
}

TEST_CASE("ARC: a block that is invalidated comes back as new", "[policies]") {
  PolicyRig arc("arc", 10);
  arc.store({1, 2});
  arc.touch({1});
  arc->remove(PolicyRig::slots({1}), RemoveCause::kInvalidated);
  arc.store({1});
  arc.touch({2});
  CHECK(arc.drain(2) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("ARC: a newcomer without a name adapts when it is added", "[policies]") {
  PolicyRig arc("arc", 10, {.capacity = 3});
  arc.store({1, 2, 3});
  arc.touch({2});                                           // T1 = 1 3, T2 = 2
  CHECK(arc.drain(1) == std::vector<std::uint32_t>{1});     // B1 = 1
  arc.store({1});                                           // p = 1; T1 = 3, T2 = 2 1
  CHECK(arc.drain(1) == std::vector<std::uint32_t>{2});     // |T1| = 1 is not beyond p
  arc.store({4});                                           // T1 = 3 4, T2 = 1
  CHECK(arc.drain(2) == std::vector<std::uint32_t>{3, 1});  // |T1| = 2, then 1
}

TEST_CASE("ARC: blocks without names leave first and are not remembered", "[policies]") {
  PolicyRig arc("arc", 10);
  arc.store({1, 2, 3});
  arc.contents()[SlotId{5}] = kNoBlock;
  arc->add(PolicyRig::slots({5}), {});
  arc.touch({5});
  CHECK(arc.drain(2) == std::vector<std::uint32_t>{5, 1});
}

TEST_CASE("ARC: two slots may hold the same block", "[policies]") {
  PolicyRig arc("arc", 10, {.capacity = 4});
  arc.store({1, 2});
  arc.contents()[SlotId{3}] = BlockId{1};
  arc->add(PolicyRig::slots({3}), {});
  CHECK(arc.drain(3) == std::vector<std::uint32_t>{1, 2, 3});  // 1 leaves its ghost twice
  arc.store({1, 2, 4});  // 1 and 2 have ghosts and enter T2, p = 2; T1 = 4
  CHECK(arc.drain(3) == std::vector<std::uint32_t>{1, 2, 4});
}

}  // namespace
}  // namespace spillway
