// Cache-only replay against two independent counts: Mattson's stack distances, and the shared
// oracle.
#include "models/cache_replay.hpp"

#include <fstream>

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/files.hpp"
#include "traces/catalogue.hpp"

namespace spillway::test {
namespace {

const EvictionEntry& policy(std::string_view name) {
  return find_row(eviction_policies(), "policy", name, {});
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
  Stream random(seed, "replay-test");
  std::vector<Row> rows;
  std::uint64_t next = 100;
  for (int i = 0; i < 120; ++i) {
    std::vector<std::uint64_t> chain;
    const std::uint64_t length = 1 + random.below(6);
    for (std::uint64_t k = 0; k < length; ++k) {
      chain.push_back(random.chance(0.7) ? 10 * k + random.below(4) : next++);
    }
    rows.push_back({i, static_cast<std::uint32_t>(16 * length), 1, chain});
  }
  return workload_of(rows, 16);
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

TEST_CASE("hit counts equal the shared oracle", "[models]") {
  const auto trace = shared_path("traces/mooncake_fast25_conversation.jsonl.gz");
  const auto oracle = shared_path("oracle/mooncake_fast25_conversation.json");
  const auto access_order = shared_path("oracle/reference_access_order.json");
  if (!trace || !oracle || !access_order) return;
  const Workload workload = open_trace(*trace, {});
  const auto expected = nlohmann::json::parse(std::ifstream(*oracle));
  const auto capacity = [](const nlohmann::json& row) {
    const auto& c = row["capacity_blocks"];
    return c.is_string() ? ~std::uint64_t{0} : c.get<std::uint64_t>();
  };
  const auto known = [](const std::string& name) { return name == "lru" || name == "fifo"; };
  int checked = 0;
  for (const auto& row : expected["results"]) {
    if (!known(row["policy"])) continue;
    const TouchOrder order =
        row["touch_order"] == "rev" ? TouchOrder::kReverse : TouchOrder::kForward;
    const ReplayCounts counts = replay_cache(workload, policy(row["policy"].get<std::string>()),
                                             capacity(row), order, Atomicity::kRequest);
    CHECK(counts.block_hits == row["set_hits"].get<std::uint64_t>());
    CHECK(counts.prefix_hits == row["prefix_hits"].get<std::uint64_t>());
    ++checked;
  }
  for (const auto& row : expected["access_results"]) {
    if (!known(row["policy"])) continue;
    const ReplayCounts counts =
        replay_cache(workload, policy(row["policy"].get<std::string>()), capacity(row),
                     TouchOrder::kForward, Atomicity::kReference);
    CHECK(counts.block_hits == row["set_hits"].get<std::uint64_t>());
    ++checked;
  }
  const auto reference = nlohmann::json::parse(std::ifstream(*access_order));
  for (const std::string name : {"lru", "fifo"}) {
    for (const auto& row : reference["policies"][name]) {
      const ReplayCounts counts = replay_cache(workload, policy(name), row["capacity_blocks"],
                                               TouchOrder::kForward, Atomicity::kReference);
      CHECK(counts.block_hits == row["hits"].get<std::uint64_t>());
      ++checked;
    }
  }
  CHECK(checked == 48);
}

}  // namespace
}  // namespace spillway::test
