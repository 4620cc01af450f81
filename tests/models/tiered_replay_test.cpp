// Replay through tiers against what can be derived: one tier is a cache, exclusive LRU tiers are
// one LRU stack cut in pieces, inclusive tiers are independent caches, and what came in has left or
// is still there.
#include "models/tiered_replay.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/random_chains.hpp"

namespace spillway::test {
namespace {

Workload random_workload(std::uint64_t seed) {
  return random_chains("tiered-replay-test", seed, 150);
}

struct Mode {
  TouchOrder order;
  Atomicity atomicity;
};
constexpr Mode kModes[] = {{TouchOrder::kReverse, Atomicity::kRequest},
                           {TouchOrder::kForward, Atomicity::kRequest},
                           {TouchOrder::kReverse, Atomicity::kReference},
                           {TouchOrder::kForward, Atomicity::kReference}};

/// The whole workload through tiers of these capacities, all with the same policy.
TieredReplay replayed(const Workload& workload, std::string_view policy,
                      const std::vector<std::uint64_t>& capacities, Inclusion inclusion,
                      const Mode& mode) {
  const EvictionChoice choice = parse_eviction(policy, {});
  std::vector<ReplayTierSetup> tiers;
  for (const std::uint64_t capacity : capacities) tiers.push_back({choice, capacity});
  const ReplayFacts facts(workload, choice.needs(), mode.atomicity);
  TieredReplay out(tiers, {inclusion, mode.order, mode.atomicity, workload.block_tokens(), &facts});
  out.run(workload.all());
  return out;
}

ReplayCounts cache_of(const Workload& workload, std::string_view policy, std::uint64_t capacity,
                      const Mode& mode) {
  return replay_cache(workload, parse_eviction(policy, {}), capacity, mode.order, mode.atomicity);
}

/// Of exclusive tiers only the first sees every reference.
bool may_stand_below(const EvictionEntry& entry, Inclusion inclusion) {
  return inclusion == Inclusion::kInclusive || !entry.needs.future;
}

TEST_CASE("one tier is one cache, whatever the policy", "[models]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Workload workload = random_workload(seed);
    for (const EvictionEntry& entry : eviction_policies()) {
      for (const std::uint64_t capacity : {std::uint64_t{10}, std::uint64_t{60}, kUnboundedCache}) {
        for (const Mode& mode : kModes) {
          CAPTURE(seed, entry.name, capacity);
          const ReplayCounts expected = cache_of(workload, entry.name, capacity, mode);
          for (const Inclusion inclusion : {Inclusion::kInclusive, Inclusion::kExclusive}) {
            const ReplayCounts counts =
                replayed(workload, entry.name, {capacity}, inclusion, mode).counts();
            CHECK(counts.references == expected.references);
            CHECK(counts.block_hits == expected.block_hits);
            CHECK(counts.prefix_hits == expected.prefix_hits);
            CHECK(counts.evictions == expected.evictions);
          }
        }
      }
    }
  }
}

TEST_CASE("exclusive LRU tiers are one LRU stack cut in pieces", "[models]") {
  // A tier's victim is its oldest block and becomes the newest of the tier below, and a block that
  // moves up leaves the order of the others alone. So the tiers, one behind the other, are the
  // stack of an LRU cache of their total size after every single touch, in any order of touches.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Workload workload = random_workload(seed);
    for (const std::vector<std::uint64_t>& capacities : std::vector<std::vector<std::uint64_t>>{
             {1, 1}, {1, 30}, {30, 1}, {7, 20}, {5, 9, 30}, {2, 3, 5, 40}}) {
      const std::uint64_t total =
          std::accumulate(capacities.begin(), capacities.end(), std::uint64_t{0});
      for (const Mode& mode : kModes) {
        CAPTURE(seed, capacities);
        const TieredReplay tiers =
            replayed(workload, "lru", capacities, Inclusion::kExclusive, mode);
        const ReplayCounts whole = cache_of(workload, "lru", total, mode);
        CHECK(tiers.counts().block_hits == whole.block_hits);
        CHECK(tiers.counts().prefix_hits == whole.prefix_hits);
        CHECK(tiers.tiers().back().counts().evictions == whole.evictions);
        // By reference every touch is a look-up, and the top of the stack is the smaller cache.
        if (mode.atomicity == Atomicity::kReference) {
          CHECK(tiers.tiers()[0].counts().block_hits ==
                cache_of(workload, "lru", capacities[0], mode).block_hits);
        }
      }
    }
  }
}

TEST_CASE("inclusive tiers are caches that do not see each other", "[models]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Workload workload = random_workload(seed);
    for (const EvictionEntry& entry : eviction_policies()) {
      for (const Mode& mode : kModes) {
        CAPTURE(seed, entry.name);
        const TieredReplay tiers =
            replayed(workload, entry.name, {12, 25, 50}, Inclusion::kInclusive, mode);
        std::uint64_t most = 0;
        for (const ReplayTier& tier : tiers.tiers()) {
          const ReplayCounts alone = cache_of(workload, entry.name, tier.capacity(), mode);
          CHECK(tier.counts().evictions == alone.evictions);
          most = std::max(most, alone.block_hits);
        }
        CHECK(tiers.tiers()[0].counts().block_hits ==
              cache_of(workload, entry.name, 12, mode).block_hits);
        CHECK(tiers.counts().block_hits >= most);
      }
    }
  }
}

TEST_CASE("inclusive LRU tiers hit as the largest of them", "[models]") {
  // Every tier sees every touch, so a smaller LRU tier holds a part of what a larger one does.
  const Workload workload = random_workload(4);
  for (const std::vector<std::uint64_t>& capacities :
       std::vector<std::vector<std::uint64_t>>{{5, 5}, {5, 40}, {5, 20, 40}, {40, 5}}) {
    const std::uint64_t largest = *std::max_element(capacities.begin(), capacities.end());
    for (const Mode& mode : kModes) {
      const TieredReplay tiers = replayed(workload, "lru", capacities, Inclusion::kInclusive, mode);
      const ReplayCounts whole = cache_of(workload, "lru", largest, mode);
      CHECK(tiers.counts().block_hits == whole.block_hits);
      CHECK(tiers.counts().prefix_hits == whole.prefix_hits);
    }
  }
}

TEST_CASE("what came into a tier has left it or is still there", "[models]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Workload workload = random_workload(seed);
    for (const EvictionEntry& entry : eviction_policies()) {
      for (const Inclusion inclusion : {Inclusion::kInclusive, Inclusion::kExclusive}) {
        if (!may_stand_below(entry, inclusion)) continue;
        for (const Mode& mode : kModes) {
          CAPTURE(seed, entry.name);
          const TieredReplay tiers =
              replayed(workload, entry.name, {6, 14, kUnboundedCache}, inclusion, mode);
          std::uint64_t resident = 0;
          for (const ReplayTier& tier : tiers.tiers()) {
            const ReplayTierCounts& counts = tier.counts();
            CHECK(counts.blocks_in - counts.blocks_out == tier.resident());
            CHECK(counts.blocks_out >= counts.evictions);
            CHECK(tier.resident() <= tier.capacity());
            CHECK(counts.prefix_hits <= counts.block_hits);
            resident += tier.resident();
          }
          // Below an unbounded tier nothing is ever lost: each block once, or once more above.
          const std::uint64_t copies = inclusion == Inclusion::kInclusive ? 6 + 14 : 0;
          CHECK(resident == workload.unique_blocks() + copies);
          CHECK(tiers.counts().block_hits ==
                cache_of(workload, entry.name, kUnboundedCache, mode).block_hits);
        }
      }
    }
  }
}

TEST_CASE("moves between exclusive tiers, one by one", "[models]") {
  // One block above, two below; LRU, one block a request.
  //   1  above {1}
  //   2  1 goes down:          {2} {1}
  //   3  2 goes down:          {3} {2 1}
  //   1  moves up, 3 down:     {1} {3 2}   hit below
  //   4  1 down, 2 dropped:    {4} {1 3}
  //   4  hit above
  //   3  moves up, 4 down:     {3} {4 1}   hit below
  std::vector<Row> rows;
  for (const std::uint64_t block : {1UL, 2UL, 3UL, 1UL, 4UL, 4UL, 3UL}) {
    rows.push_back({static_cast<std::int64_t>(rows.size()), 16, 1, {block}});
  }
  const Workload workload = workload_of(rows, 16);
  const TieredReplay tiers = replayed(workload, "lru", {1, 2}, Inclusion::kExclusive, kModes[0]);
  const ReplayTierCounts& above = tiers.tiers()[0].counts();
  const ReplayTierCounts& below = tiers.tiers()[1].counts();
  CHECK(above.block_hits == 1);
  CHECK(below.block_hits == 2);
  CHECK(above.blocks_in == 6);  // all but the hit above
  CHECK(above.evictions == 5);  // 1, 2, 3, 1, 4
  CHECK(above.blocks_out == 5);
  CHECK(below.blocks_in == 5);
  CHECK(below.evictions == 1);   // 2
  CHECK(below.blocks_out == 3);  // and 1 and 3 moved up
}

TEST_CASE("a prefix hit may begin in one tier and go on in another", "[models]") {
  // Two blocks above, eight below; exclusive LRU, the tail first, so the head stays above longest.
  // (1 2 3) leaves {1 2} {3}. Then (1 2 3 4): all three are leading hits, 3 of them below. Then
  // (9 1): the head is new, so 1, wherever it is, is a block hit and no prefix hit.
  const Workload workload =
      workload_of({{0, 48, 1, {1, 2, 3}}, {1, 64, 1, {1, 2, 3, 4}}, {2, 32, 1, {9, 1}}}, 16);
  const TieredReplay tiers = replayed(workload, "lru", {2, 8}, Inclusion::kExclusive, kModes[0]);
  CHECK(tiers.tiers()[0].counts().prefix_hits == 2);
  CHECK(tiers.tiers()[1].counts().prefix_hits == 1);
  CHECK(tiers.counts().prefix_hits == 3);
  CHECK(tiers.counts().block_hits == 4);
}

TEST_CASE("tiers take requests in batches of any size", "[models]") {
  const Workload workload = random_workload(6);
  const RequestBatch all = workload.all();
  for (const EvictionEntry& entry : eviction_policies()) {
    for (const Inclusion inclusion : {Inclusion::kInclusive, Inclusion::kExclusive}) {
      if (!may_stand_below(entry, inclusion)) continue;
      for (const Mode& mode : kModes) {
        const EvictionChoice choice = parse_eviction(entry.name, {});
        const ReplayFacts facts(workload, entry.needs, mode.atomicity);
        const ReplayTierSetup setup[] = {{choice, 10}, {choice, 30}};
        TieredReplay parts(setup, {inclusion, mode.order, mode.atomicity, 16, &facts});
        for (std::size_t from = 0; from < all.size();) {
          const std::size_t to = std::min(all.size(), from + 1 + from % 7);
          parts.run(all.part(from, to));
          from = to;
        }
        const ReplayCounts whole =
            replayed(workload, entry.name, {10, 30}, inclusion, mode).counts();
        CHECK(parts.counts().block_hits == whole.block_hits);
        CHECK(parts.counts().prefix_hits == whole.prefix_hits);
        CHECK(parts.counts().evictions == whole.evictions);
      }
    }
  }
}

TEST_CASE("each tier may have a policy of its own", "[models]") {
  // Blocks 1 to 3 by turns; one block above, two below. FIFO above changes nothing, for one block
  // has one order. Below, LRU and FIFO differ once a block that moved up comes down again: it is
  // then the newest for both, so they agree here as well, and the tiers hold all three.
  std::vector<Row> rows;
  for (int i = 0; i < 9; ++i) {
    rows.push_back({i, 16, 1, {static_cast<std::uint64_t>(1 + i % 3)}});
  }
  const Workload workload = workload_of(rows, 16);
  const ReplayTierSetup setup[] = {{parse_eviction("fifo", {}), 1}, {parse_eviction("lru", {}), 2}};
  TieredReplay tiers(setup, {Inclusion::kExclusive, TouchOrder::kReverse, Atomicity::kRequest});
  tiers.run(workload.all());
  CHECK(tiers.tiers()[0].counts().block_hits == 0);
  CHECK(tiers.tiers()[1].counts().block_hits == 6);
}

}  // namespace
}  // namespace spillway::test
