// Cache-only replay against two independent counts: Mattson's stack distances, and the shared
// oracle.
#include "models/cache_replay.hpp"

#include <fstream>
#include <functional>

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/random_chains.hpp"
#include "traces/catalogue.hpp"

namespace spillway::test {
namespace {

EvictionChoice policy(std::string_view name) {
  return parse_eviction(name, {});
}

/// Hits of LRU at every capacity, from stack distances: a reference hits a cache of C blocks iff
/// fewer than C distinct other blocks were touched since its last touch. One reference at a time.
std::vector<std::uint64_t> mattson_hits(const Workload& workload) {
  std::vector<TraceBlockId> stack;  // most recent first: plain and quadratic on purpose
  std::vector<std::uint64_t> at_distance(workload.unique_blocks() + 1, 0);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    for (const TraceBlockId id : workload.chain(RequestId{i})) {
      const auto it = std::find(stack.begin(), stack.end(), id);
      if (it != stack.end()) {
        ++at_distance[static_cast<std::size_t>(it - stack.begin())];
        stack.erase(it);
      }
      stack.insert(stack.begin(), id);
    }
  }
  std::vector<std::uint64_t> hits(workload.unique_blocks() + 1, 0);
  for (std::size_t c = 1; c < hits.size(); ++c) hits[c] = hits[c - 1] + at_distance[c - 1];
  return hits;
}

Workload random_workload(std::uint64_t seed) {
  return random_chains("replay-test", seed, 120);
}

TEST_CASE("LRU by reference equals stack distances at every capacity", "[models]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Workload workload = random_workload(seed);
    const auto expected = mattson_hits(workload);
    for (std::uint32_t c = 1; c <= workload.unique_blocks(); ++c) {
      const ReplayCounts counts =
          replay_cache(workload, policy("lru"), c, TouchOrder::kForward, Atomicity::kReference);
      CHECK(counts.block_hits == expected[c]);
    }
  }
}

TEST_CASE("an infinite cache misses each block once", "[models]") {
  const Workload workload = random_workload(9);
  for (const std::string_view name : {"lru", "fifo"}) {
    const ReplayCounts counts = replay_cache(workload, policy(name), ~std::uint64_t{0},
                                             TouchOrder::kReverse, Atomicity::kReference);
    CHECK(counts.block_hits == workload.references() - workload.unique_blocks());
    CHECK(counts.evictions == 0);
  }
}

TEST_CASE("a block counted as a hit may leave before its own touch", "[models]") {
  // Capacity 2, request-atomic, first block first. After (1 2): cache {1 2}. Request (3 2): 2 is a
  // hit, 3 goes in first and pushes out 1 under LRU; under FIFO too. Request (1 3): 3 is a hit;
  // inserting 1 evicts LRU's oldest, which is 3 after (3, 2): it then re-enters, evicting 2.
  const Workload workload =
      workload_of({{0, 32, 1, {1, 2}}, {1, 32, 1, {3, 2}}, {2, 32, 1, {1, 3}}}, 16);
  const ReplayCounts lru =
      replay_cache(workload, policy("lru"), 2, TouchOrder::kForward, Atomicity::kRequest);
  CHECK(lru.block_hits == 2);
  CHECK(lru.evictions == 3);
}

bool equal_counts(const ReplayCounts& a, const ReplayCounts& b) {
  return a.references == b.references && a.block_hits == b.block_hits &&
         a.prefix_hits == b.prefix_hits && a.evictions == b.evictions;
}

/// Every policy, order and atomicity.
void for_each_replay(
    const std::function<void(const EvictionEntry&, TouchOrder, Atomicity)>& check) {
  for (const EvictionEntry& entry : eviction_policies()) {
    for (const TouchOrder order : {TouchOrder::kReverse, TouchOrder::kForward}) {
      for (const Atomicity atomicity : {Atomicity::kRequest, Atomicity::kReference}) {
        CAPTURE(entry.name);
        check(entry, order, atomicity);
      }
    }
  }
}

TEST_CASE("requests may come in batches of any size", "[models]") {
  const Workload workload = random_workload(3);
  const RequestBatch all = workload.all();
  for_each_replay([&](const EvictionEntry& entry, TouchOrder order, Atomicity atomicity) {
    for (const std::uint64_t capacity : {std::uint64_t{1}, std::uint64_t{20}, kUnboundedCache}) {
      const ReplayFacts facts(workload, entry.needs, atomicity);
      CacheReplay cache(policy(entry.name), {capacity, order, atomicity, 16, &facts});
      for (std::size_t from = 0; from < all.size();) {
        const std::size_t to = std::min(all.size(), from + 1 + from % 7);
        cache.run(all.part(from, to));
        from = to;
      }
      CHECK(equal_counts(cache.counts(),
                         replay_cache(workload, policy(entry.name), capacity, order, atomicity)));
    }
  });
}

TEST_CASE("LRU by reference: what hits in a smaller cache hits in a larger one", "[models]") {
  // Each request one block, so that each batch's counts tell whether it hit.
  Stream random(11, "inclusion");
  std::vector<Row> rows;
  for (int i = 0; i < 400; ++i) rows.push_back({i, 16, 1, {random.below(40)}});
  const Workload workload = workload_of(rows, 16);
  const auto hit_at = [&](std::uint64_t capacity) {
    CacheReplay cache({}, {capacity, TouchOrder::kForward, Atomicity::kReference, 16, nullptr});
    std::vector<bool> out;
    const RequestBatch all = workload.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      RequestBatch one = all;
      one.first = RequestId{static_cast<std::uint32_t>(i)};
      one.arrival_ns = all.arrival_ns.subspan(i, 1);
      one.chain_begin = all.chain_begin.subspan(i, 2);
      one.chain = all.chain.subspan(i, 1);
      const std::uint64_t before = cache.counts().block_hits;
      cache.run(one);
      out.push_back(cache.counts().block_hits > before);
    }
    return out;
  };
  std::vector<bool> smaller = hit_at(1);
  for (std::uint64_t capacity = 2; capacity <= 40; ++capacity) {
    const std::vector<bool> larger = hit_at(capacity);
    for (std::size_t i = 0; i < larger.size(); ++i) REQUIRE((!smaller[i] || larger[i]));
    smaller = larger;
  }
}

TEST_CASE("inclusion is not asserted of FIFO, for it does not hold", "[models]") {
  // Belady, Nelson and Shedler, CACM 12(6), 1969: 9 misses of 12 in three places, 10 in four.
  std::vector<Row> rows;
  for (const std::uint64_t block : {1UL, 2UL, 3UL, 4UL, 1UL, 2UL, 5UL, 1UL, 2UL, 3UL, 4UL, 5UL}) {
    rows.push_back({static_cast<std::int64_t>(rows.size()), 16, 1, {block}});
  }
  const Workload workload = workload_of(rows, 16);
  const auto misses = [&](std::uint64_t capacity) {
    const ReplayCounts counts = replay_cache(workload, policy("fifo"), capacity,
                                             TouchOrder::kForward, Atomicity::kReference);
    return counts.references - counts.block_hits;
  };
  CHECK(misses(3) == 9);
  CHECK(misses(4) == 10);
}

TEST_CASE("a cache that never fills counts as one without a bound", "[models]") {
  // 9,000 blocks: more slots than a policy starts with.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    rows.push_back({static_cast<std::int64_t>(i), 64, 1, {3 * i, 3 * i / 2, 3 * i, 3 * i + 1}});
  }
  const Workload workload = workload_of(rows, 16);
  for_each_replay([&](const EvictionEntry& entry, TouchOrder order, Atomicity atomicity) {
    const ReplayFacts facts(workload, entry.needs, atomicity);
    CacheReplay unbounded(policy(entry.name), {kUnboundedCache, order, atomicity, 16, &facts});
    unbounded.run(workload.all());
    CHECK(unbounded.counts().evictions == 0);
    for (const std::uint64_t capacity :
         {std::uint64_t{workload.unique_blocks()}, std::uint64_t{1} << 62}) {
      CacheReplay bounded(policy(entry.name), {capacity, order, atomicity, 16, &facts});
      bounded.run(workload.all());
      CHECK(equal_counts(bounded.counts(), unbounded.counts()));
    }
  });
}

TEST_CASE("hit counts equal the shared oracle", "[models]") {
  const auto files =
      materials({"traces/mooncake_fast25_conversation.jsonl.gz",
                 "oracle/mooncake_fast25_conversation.json", "oracle/reference_access_order.json"});
  const Workload workload = open_trace(files[0].path, {});
  const auto expected = nlohmann::json::parse(std::ifstream(files[1].path));
  const auto capacity = [](const nlohmann::json& row) {
    const auto& c = row["capacity_blocks"];
    return c.is_string() ? ~std::uint64_t{0} : c.get<std::uint64_t>();
  };
  const auto count = [&](const std::string& name, const nlohmann::json& row, TouchOrder order,
                         Atomicity atomicity) {
    CAPTURE(name, row);
    return replay_cache(workload, policy(name), capacity(row), order, atomicity);
  };
  for (const auto& row : expected["results"]) {
    const std::string name = row["policy"] == "opt" ? "belady" : row["policy"];
    const TouchOrder order =
        row["touch_order"] == "fwd" ? TouchOrder::kForward : TouchOrder::kReverse;
    const ReplayCounts counts = count(name, row, order, Atomicity::kRequest);
    CHECK(counts.block_hits == row["set_hits"].get<std::uint64_t>());
    if (row.contains("prefix_hits")) {
      CHECK(counts.prefix_hits == row["prefix_hits"].get<std::uint64_t>());
    }
  }
  for (const auto& row : expected["access_results"]) {
    const ReplayCounts counts =
        count(row["policy"], row, TouchOrder::kForward, Atomicity::kReference);
    CHECK(counts.block_hits == row["set_hits"].get<std::uint64_t>());
  }
  const auto reference = nlohmann::json::parse(std::ifstream(files[2].path));
  for (const auto& [name, rows] : reference["policies"].items()) {
    for (const auto& row : rows) {
      const ReplayCounts counts = count(name, row, TouchOrder::kForward, Atomicity::kReference);
      CHECK(counts.block_hits == row["hits"].get<std::uint64_t>());
    }
  }
}

}  // namespace
}  // namespace spillway::test
