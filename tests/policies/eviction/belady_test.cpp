// The offline optimum against every way to keep blocks, against the other policies, and on a chain.
#include <bit>
#include <map>
#include <set>

#include "models/cache_replay.hpp"
#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/files.hpp"
#include "traces/catalogue.hpp"

namespace spillway::test {
namespace {

using Chains = std::vector<std::vector<std::uint64_t>>;

Workload workload_of_chains(const Chains& chains) {
  std::vector<Row> rows;
  for (const auto& chain : chains) {
    const auto tokens = static_cast<std::uint32_t>(16 * chain.size());
    rows.push_back({static_cast<std::int64_t>(rows.size()), tokens, 1, chain});
  }
  return workload_of(rows, 16);
}

ReplayCounts replay(const Workload& workload, std::string_view name, std::uint64_t capacity,
                    TouchOrder order, Atomicity atomicity) {
  const EvictionChoice choice = parse_eviction(name, {});
  const ReplayFacts facts(workload, choice.needs(), atomicity);
  CacheReplay cache(choice, {capacity, order, atomicity, 16, &facts});
  cache.run(workload.all());
  return cache.counts();
}

/// Paths of a random tree of eight blocks, from the root of one of up to two trees.
Chains random_paths(Stream& random) {
  std::vector<std::vector<std::uint64_t>> path(8);
  for (std::uint64_t node = 0; node < 8; ++node) {
    if (node > 1 || (node == 1 && random.chance(0.5))) path[node] = path[random.below(node)];
    path[node].push_back(node);
  }
  Chains out;
  for (int i = 0; i < 14; ++i) out.push_back(path[random.below(8)]);
  return out;
}

/// Up to four of eight blocks in any order.
Chains random_lists(Stream& random, bool repeat) {
  Chains out(14);
  for (auto& chain : out) {
    for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
      const std::uint64_t block = random.below(8);
      const bool there = std::find(chain.begin(), chain.end(), block) != chain.end();
      if (repeat || !there) chain.push_back(block);
    }
  }
  return out;
}

enum class Counted { kBlocks, kPrefix };

/// The most hits of any cache: after each step, every set of kept blocks is tried that is no larger
/// than `capacity` and made of what was kept and what was used; a set of blocks is a mask.
std::uint64_t most_hits(const Chains& steps, std::uint32_t capacity, Counted counted,
                        bool must_enter) {
  std::map<unsigned, std::uint64_t> best = {{0u, 0}};
  for (const auto& step : steps) {
    unsigned used = 0;
    for (const std::uint64_t block : step) used |= 1u << block;
    std::map<unsigned, std::uint64_t> next;
    for (const auto& [kept, hits] : best) {
      std::uint64_t now = hits;
      for (const std::uint64_t block : step) {
        const bool hit = (kept >> block & 1) != 0;
        if (!hit && counted == Counted::kPrefix) break;
        now += hit ? 1 : 0;
      }
      const unsigned all = kept | used;
      for (unsigned keep = all;; keep = (keep - 1) & all) {
        const bool fits = static_cast<std::uint32_t>(std::popcount(keep)) <= capacity;
        if (fits && (!must_enter || (keep & used) == used)) {
          std::uint64_t& reached = next[keep];
          reached = std::max(reached, now);
        }
        if (keep == 0) break;
      }
    }
    best = std::move(next);
  }
  std::uint64_t most = 0;
  for (const auto& [kept, hits] : best) most = std::max(most, hits);
  return most;
}

Chains one_by_one(const Chains& chains) {
  Chains out;
  for (const auto& chain : chains) {
    for (const std::uint64_t block : chain) out.push_back({block});
  }
  return out;
}

TEST_CASE("Belady: of whole requests no way to keep blocks hits more", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Stream random(seed, "belady");
    for (const bool chained : {true, false}) {
      const Chains chains = chained ? random_paths(random) : random_lists(random, false);
      const Workload workload = workload_of_chains(chains);
      for (const std::uint32_t capacity : {1u, 2u, 3u, 5u}) {
        CAPTURE(seed, chained, capacity);
        const std::uint64_t blocks = most_hits(chains, capacity, Counted::kBlocks, false);
        for (const TouchOrder order : {TouchOrder::kReverse, TouchOrder::kForward}) {
          const ReplayCounts counts =
              replay(workload, "belady", capacity, order, Atomicity::kRequest);
          REQUIRE(counts.block_hits == blocks);
          if (!chained) continue;
          // Where chains are consistent, the same cache is the best of leading hits.
          REQUIRE(counts.prefix_hits == blocks);
          REQUIRE(most_hits(chains, capacity, Counted::kPrefix, false) == blocks);
        }
      }
    }
  }
}

/// The definition, plainly: after each request the blocks stay, of the cache and the request, whose
/// next first use is nearest. A block that repeats within a request hits as often as it stands.
std::uint64_t hits_by_definition(const Chains& chains, std::size_t capacity) {
  const auto next_use_of = [&](std::uint64_t block, std::size_t after) {
    std::uint64_t position = 0;
    for (std::size_t r = after + 1; r < chains.size(); ++r) {
      const auto at = std::find(chains[r].begin(), chains[r].end(), block);
      position += static_cast<std::uint64_t>(at - chains[r].begin());
      if (at != chains[r].end()) return position;
    }
    return ~std::uint64_t{0};
  };
  std::uint64_t hits = 0;
  std::set<std::uint64_t> kept;
  for (std::size_t r = 0; r < chains.size(); ++r) {
    for (const std::uint64_t block : chains[r]) hits += kept.count(block);
    kept.insert(chains[r].begin(), chains[r].end());
    std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
    for (const std::uint64_t block : kept) order.emplace_back(next_use_of(block, r), block);
    std::sort(order.begin(), order.end());
    while (order.size() > capacity) {
      kept.erase(order.back().second);
      order.pop_back();
    }
  }
  return hits;
}

TEST_CASE("Belady: blocks that repeat within a request go by their first place", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Stream random(seed, "belady-repeats");
    const Chains chains = random_lists(random, true);
    const Workload workload = workload_of_chains(chains);
    for (const std::uint32_t capacity : {1u, 2u, 3u, 5u}) {
      for (const TouchOrder order : {TouchOrder::kReverse, TouchOrder::kForward}) {
        CAPTURE(seed, capacity);
        REQUIRE(replay(workload, "belady", capacity, order, Atomicity::kRequest).block_hits ==
                hits_by_definition(chains, capacity));
      }
    }
  }
}

TEST_CASE("Belady: by reference no cache that lets each block in hits more", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Stream random(seed, "belady-reference");
    const Chains chains = seed % 2 == 0 ? random_paths(random) : random_lists(random, true);
    const Workload workload = workload_of_chains(chains);
    for (const std::uint32_t capacity : {1u, 2u, 3u, 5u}) {
      CAPTURE(seed, capacity);
      REQUIRE(replay(workload, "belady", capacity, TouchOrder::kForward, Atomicity::kReference)
                  .block_hits == most_hits(one_by_one(chains), capacity, Counted::kBlocks, true));
    }
  }
}

TEST_CASE("Belady: a block that is used no earlier than all that is kept stays out", "[policies]") {
  // Capacity 2 over the requests (1 2) (3) (4) (1) (3) (2). After (1 2), 3 is used next at 4, 1 at
  // 3 and 2 at 5: 3 takes the place of 2. 4 is never used again and stays out. Hits: 1 and 3.
  const Workload workload = workload_of_chains({{1, 2}, {3}, {4}, {1}, {3}, {2}});
  const ReplayCounts counts =
      replay(workload, "belady", 2, TouchOrder::kReverse, Atomicity::kRequest);
  CHECK(counts.block_hits == 2);
  CHECK(counts.evictions == 1);  // of 2; when 2 comes back it is of no more use either
}

TEST_CASE("Belady: what was a hit and made way does not come back past its use", "[policies]") {
  // Capacity 1, last block first. 1 is kept from the first request; in (1 2) it is a hit and not
  // used again, so 2 takes its place, and 1, which is walked next, must not push out 2.
  const Workload workload = workload_of_chains({{1}, {1, 2}, {2}, {2}});
  CHECK(replay(workload, "belady", 1, TouchOrder::kReverse, Atomicity::kRequest).block_hits == 3);
}

TEST_CASE("Belady: no policy of the catalogue hits more", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Stream random(seed, "belady-unbeaten");
    Chains chains(300);
    std::uint64_t fresh = 1000;
    for (auto& chain : chains) {
      for (std::uint64_t k = 1 + random.below(8); k > 0; --k) {
        chain.push_back(random.chance(0.7) ? 10 * k + random.below(9) : fresh++);
      }
    }
    const Workload workload = workload_of_chains(chains);
    for (const Atomicity atomicity : {Atomicity::kRequest, Atomicity::kReference}) {
      for (const std::uint64_t capacity : {1u, 4u, 12u, 30u, 80u, 200u}) {
        for (const TouchOrder order : {TouchOrder::kReverse, TouchOrder::kForward}) {
          const std::uint64_t most =
              replay(workload, "belady", capacity, order, atomicity).block_hits;
          for (const EvictionEntry& entry : eviction_policies()) {
            CAPTURE(entry.name, capacity);
            CHECK(replay(workload, entry.name, capacity, order, atomicity).block_hits <= most);
          }
        }
      }
    }
  }
}

TEST_CASE("Belady: on a trace of prefix chains its hits are all leading ones", "[policies]") {
  const Material trace = material("traces/mooncake_fast25_conversation.jsonl.gz");
  const Workload workload = open_trace(trace.path, {});
  for (const std::uint64_t capacity : {500u, 2'000u, 10'000u, 50'000u}) {
    const ReplayCounts best =
        replay(workload, "belady", capacity, TouchOrder::kReverse, Atomicity::kRequest);
    CHECK(best.prefix_hits == best.block_hits);
    for (const EvictionEntry& entry : eviction_policies()) {
      CAPTURE(entry.name, capacity);
      CHECK(replay(workload, entry.name, capacity, TouchOrder::kReverse, Atomicity::kRequest)
                .block_hits <= best.block_hits);
    }
  }
}

}  // namespace
}  // namespace spillway::test
