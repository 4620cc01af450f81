// The one-pass curve against replays at every capacity, the shared oracle, and by hand.
#include "traces/stats/reuse_curve.hpp"

#include <fstream>

#include <nlohmann/json.hpp>

#include "models/cache_replay.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/files.hpp"
#include "traces/catalogue.hpp"

namespace spillway::test {
namespace {

struct Mode {
  TouchOrder order;
  Atomicity atomicity;
};
constexpr Mode kModes[] = {{TouchOrder::kReverse, Atomicity::kRequest},
                           {TouchOrder::kForward, Atomicity::kRequest},
                           {TouchOrder::kForward, Atomicity::kReference}};

EvictionChoice lru() {
  return {};
}

void check_every_capacity(const Workload& workload) {
  for (const Mode mode : kModes) {
    const ReuseCurve curve = reuse_curve(workload, mode.order, mode.atomicity);
    CHECK(curve.references == workload.references());
    CHECK(curve.unique_blocks == workload.unique_blocks());
    CHECK(curve.block.hits(0) == 0);
    CHECK(curve.prefix.hits(0) == 0);
    for (std::uint32_t c = 1; c <= workload.unique_blocks() + 2; ++c) {
      const ReplayCounts counts = replay_cache(workload, lru(), c, mode.order, mode.atomicity);
      REQUIRE(curve.block.hits(c) == counts.block_hits);
      REQUIRE(curve.prefix.hits(c) == counts.prefix_hits);
    }
  }
}

/// Any blocks in any order, some of them twice in a request.
Workload scattered(std::uint64_t seed) {
  Stream random(seed, "reuse-curve-scattered");
  const std::uint64_t blocks = 1 + random.below(60);
  std::vector<Row> rows;
  for (int i = 0; i < 60; ++i) {
    std::vector<std::uint64_t> chain;
    const std::uint64_t length = random.below(9);
    for (std::uint64_t k = 0; k < length; ++k) chain.push_back(random.below(blocks));
    rows.push_back({i, 1000, 1, chain});
  }
  return workload_of(rows, 16);
}

/// Sessions that extend their chains behind a common root, long enough to cross words and groups
/// of the line of touches.
Workload sessions(std::uint64_t seed) {
  Stream random(seed, "reuse-curve-sessions");
  std::vector<std::vector<std::uint64_t>> chains(4, std::vector<std::uint64_t>{0, 1, 2});
  std::vector<Row> rows;
  std::uint64_t next = 3;
  for (int i = 0; i < 40; ++i) {
    std::vector<std::uint64_t>& chain = chains[random.below(chains.size())];
    const std::uint64_t more = random.below(30);
    for (std::uint64_t k = 0; k < more; ++k) chain.push_back(next++);
    if (random.chance(0.1)) chain.resize(2 + random.below(chain.size() - 1));
    rows.push_back({i, 10'000, 1, chain});
  }
  return workload_of(rows, 16);
}

TEST_CASE("the reuse curve equals a replay at every capacity", "[traces]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) check_every_capacity(scattered(seed));
  for (std::uint64_t seed = 1; seed <= 6; ++seed) check_every_capacity(sessions(seed));
}

TEST_CASE("requests as they come count as all of them at once", "[traces]") {
  // More touches than the line of a counter that expects nothing begins with, of few blocks: it is
  // tidied several times.
  Stream random(9, "reuse-curve-stream");
  std::vector<Row> rows;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t first = 3 * random.below(900);
    std::vector<std::uint64_t> chain;
    for (std::uint64_t k = 0; k < 80; ++k) chain.push_back(first + k);
    rows.push_back({i, 10'000, 1, chain});
  }
  const Workload workload = workload_of(rows, 16);
  const RequestBatch all = workload.all();
  for (const Mode mode : kModes) {
    const ReuseCurve whole = reuse_curve(workload, mode.order, mode.atomicity);
    ReuseCounter block(mode.order, mode.atomicity, CountedHits::kBlock);
    ReuseCounter prefix(mode.order, mode.atomicity, CountedHits::kPrefix);
    for (std::size_t begin = 0; begin < all.size(); begin += 100) {
      RequestBatch part = all;
      part.arrival_ns = all.arrival_ns.subspan(begin, 100);
      part.chain_begin = all.chain_begin.subspan(begin, 101);
      part.chain =
          all.chain.subspan(part.chain_begin[0], part.chain_begin[100] - part.chain_begin[0]);
      block.add(part);
      prefix.add(part);
    }
    const ReuseCurve blocks = std::move(block).curve();
    const ReuseCurve prefixes = std::move(prefix).curve();
    CHECK(blocks.references == whole.references);
    CHECK(prefixes.block.infinite_hits() == 0);
    for (std::uint64_t c = 0; c <= whole.unique_blocks + 1; c += 3) {
      REQUIRE(blocks.block.hits(c) == whole.block.hits(c));
      REQUIRE(prefixes.prefix.hits(c) == whole.prefix.hits(c));
    }
  }
}

TEST_CASE("stack distances of a small trace", "[traces]") {
  // Blocks 1 2 3, then 1 2 again, last block touched first: the stack from the top is 1 2 3, so 1
  // is at distance 0 and 2 at 1; afterwards it is 1 2 3 again, and 3 is at distance 2. As a prefix,
  // 3 alone leads its own request.
  const Workload workload =
      workload_of({{0, 48, 1, {1, 2, 3}}, {1, 32, 1, {1, 2}}, {2, 16, 1, {3}}}, 16);
  const ReuseCurve curve = reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest);
  for (const std::uint64_t distance : {0U, 1U, 2U}) CHECK(curve.block.at_distance(distance) == 1);
  CHECK(curve.block.infinite_hits() == 3);
  CHECK(curve.block.hits(~std::uint64_t{0}) == 3);
  CHECK(curve.block.capacity_for(0) == 0);
  CHECK(curve.block.capacity_for(2) == 2);
  CHECK(curve.prefix.hits(1) == 1);
  CHECK(curve.prefix.hits(3) == 3);
  // First block touched first: 3 2 1 from the top, then 2 1 3.
  const ReuseCurve forward = reuse_curve(workload, TouchOrder::kForward, Atomicity::kRequest);
  CHECK(forward.block.at_distance(0) == 0);
  CHECK(forward.block.at_distance(1) == 1);
  CHECK(forward.block.at_distance(2) == 2);
  // Distances 2 and 1: 2 counts as a prefix only where 1 does.
  CHECK(forward.prefix.hits(2) == 0);
  CHECK(forward.prefix.hits(3) == 3);
}

TEST_CASE("a trace without blocks has an empty curve", "[traces]") {
  const Workload workload = workload_of({{0, 48, 1, {}}, {1, 32, 1, {}}}, 16);
  for (const Mode mode : kModes) {
    const ReuseCurve curve = reuse_curve(workload, mode.order, mode.atomicity);
    CHECK(curve.block.infinite_hits() == 0);
    CHECK(curve.block.hits(100) == 0);
    CHECK(curve.prefix.hits(1) == 0);
  }
}

TEST_CASE("the reuse curve equals the shared oracle", "[traces]") {
  const auto files = materials(
      {"traces/mooncake_fast25_conversation.jsonl.gz", "oracle/mooncake_fast25_conversation.json"});
  const Workload workload = open_trace(files[0].path, {});
  const auto expected = nlohmann::json::parse(std::ifstream(files[1].path));
  int checked = 0;
  const auto check = [&](const char* group, const char* order, Mode mode) {
    const ReuseCurve curve = reuse_curve(workload, mode.order, mode.atomicity);
    for (const auto& row : expected[group]) {
      if (row["policy"] != "lru" || row.value("touch_order", order) != order) continue;
      const auto& c = row["capacity_blocks"];
      const std::uint64_t capacity = c.is_string() ? ~std::uint64_t{0} : c.get<std::uint64_t>();
      CHECK(curve.block.hits(capacity) == row["set_hits"].get<std::uint64_t>());
      if (row.contains("prefix_hits")) {
        CHECK(curve.prefix.hits(capacity) == row["prefix_hits"].get<std::uint64_t>());
      }
      ++checked;
    }
  };
  check("results", "rev", kModes[0]);
  check("results", "fwd", kModes[1]);
  check("access_results", "fwd", kModes[2]);
  CHECK(checked >= 15);
}

}  // namespace
}  // namespace spillway::test
