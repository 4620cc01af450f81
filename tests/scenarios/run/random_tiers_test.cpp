// Random hierarchies under random rules, on engines that share some of their levels: whatever they
// are, requests end, nothing stays pinned, blocks and bytes add up (the invariants of every run),
// and the same run gives the same result, beside others too.
#include <thread>

#include "sim/rng.hpp"
#include "tests/scenarios/scenario/tiered.hpp"

namespace spillway::test {
namespace {

/// Draws from lists, by a stream of the seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, "random-tiers", 0) {}
  bool chance(std::uint32_t percent) { return stream_.below(100) < percent; }
  std::string of(const std::vector<std::string>& choices) {
    return choices[stream_.below(static_cast<std::uint32_t>(choices.size()))];
  }

 private:
  Stream stream_;
};

std::string random_level(Dice& dice, int number, const std::string& scope) {
  std::string keys;
  const bool bounded = dice.chance(70);
  if (bounded) {
    keys += fmt::format(R"("capacity": "{}", "eviction": "{}", )",
                        dice.of({"20blocks", "64blocks", "200blocks"}),
                        dice.of({"lru", "fifo", "s3fifo", "arc"}));
    if (dice.chance(30)) keys += R"("trim_above": 0.9, "trim_to": 0.5, )";
  }
  if (dice.chance(50)) {
    keys += R"("write": "on-eviction", )";
    if (dice.chance(50)) keys += R"("inclusion": "exclusive", )";
  }
  if (dice.chance(30)) keys += R"("ttl_s": 2, )";
  if (dice.chance(30)) keys += R"("write_admission": "frequency:threshold=2", )";
  if (dice.chance(30)) keys += R"("prefetch_chunks": 8, )";
  return fmt::format(
      R"({{"name": "t{}", "kind": "fs", "scope": "{}", {}"when_full": "{}", "device":)"
      R"( {{"read_bandwidth": "{}", "write_bandwidth": "1GB/s", "read_latency_us": 20,)"
      R"( "write_latency_us": 20, "lookup_us": {}}}}})",
      number, scope, keys, dice.of({"wait", "drop"}), dice.of({"300MB/s", "5GB/s"}),
      dice.of({"0", "40"}));
}

Scenario random_scenario(std::uint64_t seed) {
  Dice dice(seed);
  std::string behind;
  const std::vector<std::string> scopes = {"instance", "node", "cluster"};
  std::size_t widest = 0;
  for (int i = 0; i == 0 || (i < 6 && dice.chance(60)); ++i) {
    if (widest < 2 && dice.chance(40)) ++widest;
    behind += (i == 0 ? "" : ",") + random_level(dice, i, scopes[widest]);
  }
  std::vector<std::string> keys = {"fleet.replicas=" + dice.of({"1", "2", "3"}),
                                   "fleet.routing=" + dice.of({"session-hash", "round-robin"}),
                                   "engine.data_parallel_size=" + dice.of({"1", "2"}),
                                   "engine.blocks_per_chunk=" + dice.of({"1", "4"}),
                                   "host.memory=4TB",
                                   "host.instances=2"};
  if (dice.chance(40)) keys.insert(keys.end(), {"tiers.0.trim_above=0.8", "tiers.0.trim_to=0.6"});
  return tiered(40, 48, behind, keys);
}

/// Twelve documents of a Zipf-like popularity, by the seed.
Workload random_documents(std::uint64_t seed) {
  Stream draw(seed, "random-documents", 0);
  std::vector<Row> rows;
  std::int64_t at = 0;
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t id = std::min(draw.below(12), draw.below(12));
    rows.push_back({at, 256, 1 + static_cast<std::uint32_t>(draw.below(8)), {id}});
    at += static_cast<std::int64_t>(draw.below(60));
  }
  return workload_of(rows, 256);
}

std::string digest_of(std::uint64_t seed) {
  const Workload workload = random_documents(seed);
  const Told run = told(random_scenario(seed), workload);
  const RunResult& r = run.result();
  std::string out = fmt::format("{} {} {}", r.completed, r.ttft.mean_ms, r.duration_s);
  for (const TierResult& t : r.tiers)
    out += fmt::format(" {}:{}:{}", t.stores, t.evictions, t.hits);
  for (const LinkResult& l : r.links) out += fmt::format(" {}:{}", l.bytes, l.transfers);
  for (const RequestRecord& q : run.journal.requests) {
    out += fmt::format(" {}", q.first_token.time_since_epoch().count());
  }
  return out;
}

TEST_CASE("random hierarchies: all requests end, and the same run is the same on every thread",
          "[scenarios]") {
  constexpr std::uint64_t kSeeds = 40;
  std::vector<std::string> alone;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    alone.push_back(digest_of(seed));
    CHECK(alone.back().substr(0, 3) == "60 ");
  }
  std::vector<std::string> beside(kSeeds);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &beside] {
      for (std::uint64_t seed = t; seed < kSeeds; seed += 4) beside[seed] = digest_of(seed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(alone == beside);
}

}  // namespace
}  // namespace spillway::test
