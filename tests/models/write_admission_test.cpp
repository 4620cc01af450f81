// What write admission keeps out of the tier below, and what that does to look-ups and stores.
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16

Setup with_writes(const char* write_admission) {
  Setup setup;
  setup.dram_blocks = 100;
  setup.write_admission = write_admission;
  return setup;
}

std::uint64_t refused(const EngineRun& run, WriteVerdict why) {
  return run.offload.refused[static_cast<std::size_t>(why)];
}

std::uint64_t stored(const EngineRun& run) {
  std::uint64_t out = 0;
  for (const TierChange& c : run.journal.tier_changes) out += c.tier == 1 ? c.stored : 0;
  return out;
}

TEST_CASE("second-hit stores a chain when its second request offers it", "[models]") {
  // 8 blocks: seen, then stored though HBM still holds them, then there.
  const Workload workload =
      workload_of({{0, 128, 1, {1, 2}}, {100, 128, 1, {1, 2}}, {200, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, with_writes("second-hit"));
  CHECK(refused(run, WriteVerdict::kFirstSighting) == 8);
  CHECK(run.offload.store_jobs == 1);
  CHECK(stored(run) == 8);
}

TEST_CASE("a request offers a refused block once", "[models]") {
  // Two chunks of 4 blocks: 4 are refused, then the other 4.
  Setup setup = with_writes("second-hit");
  setup.config.max_num_batched_tokens = 64;
  const EngineRun run = run_engine(workload_of({{0, 128, 9, {1, 2}}}, kTraceBlock), setup);
  CHECK(refused(run, WriteVerdict::kFirstSighting) == 8);
  CHECK(run.offload.store_jobs == 0);
}

TEST_CASE("a batch that finds no room is one sighting, and counted once it is settled",
          "[models]") {
  // The tier has 4 blocks, and a block is stored when it is seen for the third time. Request 4
  // fills the tier with chain 1, over a slow link. Request 5 offers chain 2 for the third time and
  // chain 3's blocks for the first: no room, now and at its end. Request 6 is the second to offer
  // chain 3, however often request 5 tried.
  Setup setup = with_writes("second-hit:threshold=3");
  setup.dram_blocks = 4;
  setup.bytes_per_second = 100'000'000;
  const Workload workload = workload_of({{0, 64, 1, {2}},
                                         {100, 64, 1, {2}},
                                         {200, 64, 1, {1}},
                                         {300, 64, 1, {1}},
                                         {400, 64, 1, {1}},
                                         {404, 128, 1, {2, 3}},
                                         {1000, 128, 1, {2, 3}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.offload.store_failures == 2);
  CHECK(run.offload.store_jobs == 2);  // chain 1, and chain 2 in its place
  CHECK(stored(run) == 8);
  CHECK(refused(run, WriteVerdict::kFirstSighting) == 4 * 4 + 4);  // requests 0 to 3, and 6
}

TEST_CASE("second-hit by look-ups needs a look-up to reach a block twice", "[models]") {
  // HBM holds nothing across requests. Of 8 blocks, request k reaches as many as lie below and one
  // more: 1, 1, then 2 (the first is there), 2, ...
  Setup setup = with_writes("second-hit:count=lookups");
  setup.config.enable_prefix_caching = false;
  std::vector<Row> rows;
  for (int i = 0; i < 7; ++i) rows.push_back({100 * i, 128, 1, {1, 2}});
  const EngineRun run = run_engine(workload_of(rows, kTraceBlock), setup);
  CHECK(stored(run) == 3);  // by requests 1, 3 and 5
  CHECK(run.journal.requests[1].cached_tokens[1] == 0);
  CHECK(run.journal.requests[2].cached_tokens[1] == 16);
  CHECK(run.journal.requests[6].cached_tokens[1] == 48);
}

TEST_CASE("frequency forgets between offers that lie far apart", "[models]") {
  const auto jobs = [](std::int64_t second_ms) {
    const Workload workload =
        workload_of({{0, 128, 1, {1, 2}}, {second_ms, 128, 1, {1, 2}}}, kTraceBlock);
    const EngineRun run = run_engine(workload, with_writes("frequency:decay_s=10"));
    CHECK(refused(run, WriteVerdict::kInfrequent) == (run.offload.store_jobs == 0 ? 16 : 8));
    return run.offload.store_jobs;
  };
  CHECK(jobs(9'999) == 1);
  CHECK(jobs(10'000) == 0);
}

TEST_CASE("a look-up stops at the hole that min-depth leaves", "[models]") {
  // As in "after a load from below": request 4's 8 blocks have left HBM. With the first two never
  // stored, the six behind them are out of reach. By chain, all are there.
  const auto loaded = [](const char* write_admission) {
    Setup setup = with_writes(write_admission);
    setup.config.num_gpu_blocks = 21;
    const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                           {100, 256, 1, {3, 4, 5, 6}},
                                           {200, 256, 1, {7, 8, 9, 10}},
                                           {300, 64, 1, {11}},
                                           {400, 128, 1, {1, 2}}},
                                          kTraceBlock);
    const EngineRun run = run_engine(workload, setup);
    CHECK(run.journal.requests[4].cached_tokens[0] == 0);
    return run.journal.requests[4].cached_tokens[1];
  };
  CHECK(loaded("always") == 128);
  CHECK(loaded("min-depth:tokens=32") == 0);
  CHECK(loaded("min-depth:tokens=128:of=chain") == 128);
  CHECK(loaded("min-depth:tokens=129:of=chain") == 0);
}

TEST_CASE("back-pressure skips what is offered while stores are in flight", "[models]") {
  // At 1 GB/s request 0's 8 blocks take 17 ms from 5 ms on. Request 1 offers at 10 ms, request 2 at
  // 200 ms; what request 1 computed is not offered again by itself.
  Setup setup = with_writes("back-pressure:max_jobs=1");
  setup.bytes_per_second = 1'000'000'000;
  const Workload workload =
      workload_of({{0, 128, 9, {1, 2}}, {10, 128, 9, {3, 4}}, {200, 128, 9, {5, 6}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(refused(run, WriteVerdict::kBackPressure) == 8);
  CHECK(run.offload.store_jobs == 2);
  CHECK(stored(run) == 16);
}

TEST_CASE("write admission that refuses nothing changes nothing", "[models]") {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 60; ++i) {
    rows.push_back({static_cast<std::int64_t>(2 * i), 192, 30, {i % 7, 100 + i % 7, 200 + i}});
  }
  const auto finishes = [&](const char* writes) {
    Setup setup = with_writes(writes);
    setup.config.num_gpu_blocks = 101;
    std::vector<Time> out;
    for (const RequestRecord& r : run_engine(workload_of(rows, 64), setup).journal.requests) {
      out.push_back(r.finish);
    }
    return out;
  };
  const auto always = finishes("always");
  CHECK(finishes("second-hit:threshold=1") == always);
  CHECK(finishes("frequency:threshold=1") == always);
  CHECK(finishes("min-depth:tokens=1:of=chain") == always);
  CHECK(finishes("back-pressure:max_jobs=1000000") == always);
}

}  // namespace
}  // namespace spillway::test
