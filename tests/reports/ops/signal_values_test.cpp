// What a run says of the signals of attached stores: totals of counters, means of gauges.
#include "reports/ops/signal_values.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// HBM, 100 blocks of 1,000 bytes of host memory, a disk.
RunResult stored_run() {
  RunResult run;
  run.prompt_tokens_by_source = {{"local_compute", 500}, {"hbm", 300}, {"dram", 160}, {"ssd", 32}};
  TierResult hbm;
  hbm.name = "hbm";
  TierResult dram;
  dram.name = "dram";
  dram.kind = "dram";
  dram.capacity_bytes = 100'000;
  dram.capacity_blocks = 100;
  dram.mean_bytes = 25'000;
  dram.queries = 50;
  dram.hits = 10;
  dram.hits_resumed = 3;
  dram.stores = 40;
  dram.evictions = 7;
  dram.store_failures = 5;
  TierResult ssd;
  ssd.name = "ssd";
  ssd.kind = "nvme";
  ssd.queries = 40;
  ssd.hits = 2;
  ssd.stores = 6;
  run.tiers = {hbm, dram, ssd};
  const auto link = [](const char* name, const char* from, const char* to, std::int64_t bytes) {
    LinkResult out;
    out.name = name;
    out.from = from;
    out.to = to;
    out.bytes = bytes;
    return out;
  };
  // Two engines; a medium repeats the bytes of its links.
  run.links = {link("up/0", "dram", "hbm", 9'000),  link("up/1", "dram", "hbm", 4'000),
               link("down", "hbm", "dram", 40'000), link("spill", "dram", "ssd", 6'000),
               link("read", "ssd", "hbm", 2'000),   link("root", "dram", "hbm", 13'000)};
  run.links.back().medium = true;
  return run;
}

std::optional<double> value_of(const char* store, Signal signal, const RunResult& run) {
  const EngineRelease release{store, {}, {"dram", "nvme"}};
  const EngineMetric* metric = find_metric(release, signal);
  REQUIRE(metric != nullptr);
  return simulated_value(run, *metric);
}

TEST_CASE("counters of a store have the run's totals", "[reports]") {
  const RunResult run = stored_run();
  CHECK(value_of("kvbm", Signal::kExternalHits, run) == 192);  // tokens from dram and ssd
  CHECK(value_of("aibrix", Signal::kExternalQueries, run) == 692);
  CHECK(value_of("flexkv", Signal::kExternalMisses, run) == 38);
  CHECK(value_of("kvbm", Signal::kLoadBlocks, run) == 13);
  CHECK(value_of("kvbm", Signal::kStoreBlocks, run) == 40);
  CHECK(value_of("mooncake", Signal::kHostEvictions, run) == 7);
  CHECK(value_of("mooncake", Signal::kStoresRefused, run) == 5);
  CHECK(value_of("mooncake", Signal::kLoadBytes, run) == 13'000);
  CHECK(value_of("mooncake", Signal::kStoreBytes, run) == 40'000);
}

TEST_CASE("gauges of a store have the run's means", "[reports]") {
  const RunResult run = stored_run();
  CHECK(value_of("kvbm", Signal::kHitRatio, run) == 0.2);
  CHECK(value_of("mooncake", Signal::kHostBytes, run) == 25'000);
  CHECK(value_of("mooncake", Signal::kHostBytesTotal, run) == 100'000);
  CHECK(value_of("flexkv", Signal::kHostBlocksTotal, run) == 100);
  CHECK(value_of("flexkv", Signal::kHostBlocksFree, run) == 75);
}

TEST_CASE("metrics of storage are those of the tier of their kind", "[reports]") {
  RunResult run = stored_run();
  CHECK(value_of("kvbm", Signal::kTierHitRatio, run) == 0.05);
  CHECK(value_of("kvbm", Signal::kTierStoreBlocks, run) == 6);
  CHECK(value_of("mooncake", Signal::kTierLoadBytes, run) == 2'000);
  CHECK(value_of("mooncake", Signal::kTierStoreBytes, run) == 6'000);
  run.tiers[2].kind = "fs";
  CHECK_FALSE(value_of("kvbm", Signal::kTierHitRatio, run));
  CHECK(value_of("mooncake", Signal::kTierLoadBytes, run) == 2'000);
}

TEST_CASE("what a run does not have is no figure", "[reports]") {
  RunResult run = stored_run();
  run.tiers[1].unbounded = true;
  CHECK_FALSE(value_of("mooncake", Signal::kHostBytesTotal, run));
  CHECK_FALSE(value_of("flexkv", Signal::kHostBlocksFree, run));
  run.tiers[1].queries = 0;
  CHECK_FALSE(value_of("kvbm", Signal::kHitRatio, run));
  run.tiers.resize(1);
  CHECK_FALSE(value_of("kvbm", Signal::kLoadBlocks, run));
}

}  // namespace
}  // namespace spillway::test
