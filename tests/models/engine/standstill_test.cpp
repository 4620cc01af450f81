// vLLM's known deadlocks: each is reached by the history of its report, ends the run with stuck
// requests, and is named.
#include "models/requests/standstill.hpp"

#include <numeric>

#include "tests/support/scheduler_bench.hpp"

namespace spillway::test {
namespace {

using Kind = Standstill::Kind;

/// `count` ids of trace blocks from `first` on.
std::vector<std::uint64_t> ids(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::vector<std::uint64_t> with(std::vector<std::uint64_t> head, std::uint64_t tail) {
  head.push_back(tail);
  return head;
}

/// Issue 45388: two requests reuse prefixes of 8 blocks that only the tier below holds, and need 4
/// more each; the pool has 16.
EngineRun run_45388(bool reservation) {
  Setup setup;
  setup.config.num_gpu_blocks = 17;
  setup.config.async_load_reservation = reservation;
  setup.config.reserve_full_isl = false;
  setup.dram_blocks = 100;
  setup.bytes_per_second = 1'000'000'000;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                         {500, 128, 1, {3, 4}},
                                         {1000, 256, 1, {5, 6, 7, 8}},
                                         {1500, 192, 1, {1, 2, 9}},
                                         {1500, 192, 1, {3, 4, 10}}},
                                        64);
  return run_engine(workload, setup);
}

TEST_CASE("issues 45387, 45388: loaded requests hold what each other needs", "[models]") {
  const EngineRun run = run_45388(false);
  CHECK(run.stuck == 2);
  REQUIRE(run.standstill.has_value());
  const Standstill& why = *run.standstill;
  CHECK(why.kind == Kind::kMutualLoads);
  CHECK(raw(why.head) == 3);
  CHECK(why.holds == 8);
  CHECK(why.needs == 4);
  CHECK(why.free == 0);
  REQUIRE(why.others.size() == 1);
  CHECK(raw(why.others[0].request) == 4);
  CHECK(why.others[0].blocks == 8);
}

TEST_CASE("PR 44560: loads that leave room for those under way do not wedge", "[models]") {
  const EngineRun run = run_45388(true);
  CHECK(run.stuck == 0);
  CHECK_FALSE(run.standstill.has_value());
}

TEST_CASE("PR 57841: a head that holds nothing hides a loaded request", "[models]") {
  // The reproducer's sizes: a pool of 270, S of 100 blocks, H like S, L of 255 of which 250 lie
  // below, W of 10. S has just ended and is being stored (2 MiB a block at 1 GB/s: 210 ms). H needs
  // its last block, which is being written: put off, holding nothing. L is admitted behind it,
  // loads 250 blocks and pushes S out of HBM. When both transfers have ended, H needs 100 blocks
  // and 20 are free; the walk stops there, L (5 more) and W (10) are never reached. The reservation
  // of PR 44560 does not help: it is on.
  Setup setup;
  setup.config.num_gpu_blocks = 271;
  setup.config.max_num_batched_tokens = 8192;
  setup.dram_blocks = 2000;
  setup.bytes_per_second = 1'000'000'000;
  const auto prefix = ids(100, 50);  // trace blocks of 80 tokens, five engine blocks
  const auto shared = ids(200, 20);
  const Workload workload = workload_of({{0, 4000, 1, prefix},
                                         {5000, 4320, 1, ids(300, 54)},         // fills the pool
                                         {10'000, 1600, 1, shared},             // S
                                         {10'060, 1600, 1, shared},             // H
                                         {10'061, 4080, 1, with(prefix, 900)},  // L
                                         {20'000, 160, 1, ids(910, 2)}},        // W
                                        80);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.stuck == 3);
  REQUIRE(run.standstill.has_value());
  const Standstill& why = *run.standstill;
  CHECK(why.kind == Kind::kStrandedLoads);
  CHECK(raw(why.head) == 3);
  CHECK(why.holds == 0);
  CHECK(why.needs == 100);
  CHECK(why.free == 20);
  CHECK(why.usable == 270);
  REQUIRE(why.others.size() == 1);
  CHECK(raw(why.others[0].request) == 4);
  CHECK(why.others[0].blocks == 250);
}

TEST_CASE("PR 57841 without the coincidence: H comes once S is stored, and all end", "[models]") {
  Setup setup;
  setup.config.num_gpu_blocks = 271;
  setup.config.max_num_batched_tokens = 8192;
  setup.dram_blocks = 2000;
  setup.bytes_per_second = 1'000'000'000;
  const auto prefix = ids(100, 50);
  const auto shared = ids(200, 20);
  const Workload workload = workload_of({{0, 4000, 1, prefix},
                                         {5000, 4320, 1, ids(300, 54)},
                                         {10'000, 1600, 1, shared},
                                         {10'500, 1600, 1, shared},
                                         {10'501, 4080, 1, with(prefix, 900)},
                                         {20'000, 160, 1, ids(910, 2)}},
                                        80);
  CHECK(run_engine(workload, setup).stuck == 0);
}

TEST_CASE("issues 49176, 49829: a write that never ends defers whoever needs it", "[models]") {
  // The tier below says "being written" for good. Each step asks again; no deadline ends it. The
  // engine's own tiers cannot get there, since a pending block always has a transfer in flight.
  EngineConfig config;
  config.block_tokens = 64;
  config.num_gpu_blocks = 9;
  config.block_bytes = Bytes(4096);
  SchedulerBench bench({{0, 128, 1, {1, 2}}, {1, 64, 1, {3}}}, config, true);
  bench.connector.answer = {false, 0};
  bench.arrive(0);
  bench.arrive(1);
  for (int i = 0; i < 3; ++i) {
    const StepPlan plan = bench.step();
    CHECK(plan.items.empty());
    CHECK(plan.deferrals == 2);
  }
  const Standstill why = bench.scheduler.standstill();
  CHECK(why.kind == Kind::kUnansweredLookup);
  CHECK(raw(why.head) == 0);
  CHECK(why.free == 8);
  CHECK(bench.connector.asked == 6);
}

TEST_CASE("an unchunked prompt longer than a step's budget is named", "[models]") {
  // Where max_model_len is given, a scenario refuses this, as vLLM does.
  Setup setup;
  setup.config.max_num_batched_tokens = 100;
  setup.config.chunked_prefill = false;
  const EngineRun run = run_engine(workload_of({{0, 128, 1, {1, 2}}}, 64), setup);
  CHECK(run.stuck == 1);
  REQUIRE(run.standstill.has_value());
  CHECK(run.standstill->kind == Kind::kOverBudget);
  CHECK(run.standstill->tokens == 128);
  CHECK(run.standstill->budget == 100);
}

TEST_CASE("a request alone always gets its blocks back", "[models]") {
  // Admission at arrival keeps out what the pool cannot hold, the watermark counts only beside
  // running requests, and nobody else reserves: so of two requests that need the whole pool each,
  // both end, however often they are preempted.
  for (const bool deferred : {false, true}) {
    Setup setup;
    setup.config.num_gpu_blocks = 12;  // 11 usable
    setup.config.watermark = 0.3;
    setup.config.async_scheduling = deferred;
    setup.config.defer_block_free = deferred;
    setup.dram_blocks = 50;
    const Workload workload = workload_of({{0, 64, 112, {1}}, {0, 64, 112, {2}}}, 64);
    const EngineRun run = run_engine(workload, setup);
    CHECK(run.stuck == 0);
    CHECK_FALSE(run.journal.preempted.empty());
    for (const RequestRecord& r : run.journal.requests) {
      CHECK(r.status == RequestStatus::kCompleted);
    }
  }
}

TEST_CASE("issue 49674: deferred frees let requests preempt each other for ever", "[models]") {
  // Four prompts of 16, 44, 22 and 46 blocks of 32 tokens in a pool of 53, all at once, 30 tokens
  // of each in a step of 40, nothing kept for whole prompts. Two are served at a time; the one
  // short of a block preempts the other, whose blocks return too late for it, and then itself.
  const Workload workload = workload_of(
      {{0, 488, 4, {0}}, {0, 1407, 20, {1, 2, 3}}, {0, 696, 60, {4, 5}}, {0, 1472, 4, {6, 7, 8}}},
      512);
  Setup setup;
  setup.dram_blocks = 8;
  setup.config.block_tokens = 32;
  setup.config.block_bytes = Bytes(32 * 40960);
  setup.config.num_gpu_blocks = 54;
  setup.config.max_num_seqs = 16;
  setup.config.max_num_batched_tokens = 40;
  setup.config.long_prefill_token_threshold = 30;
  setup.config.async_scheduling = true;
  setup.config.priority_scheduling = true;
  setup.config.reserve_full_isl = false;
  setup.config.defer_block_free = true;
  const EngineRun run = run_engine(workload, setup);
  REQUIRE(run.standstill);
  CHECK(run.standstill->kind == Kind::kPreemptionLoop);
  CHECK(run.standstill->steps == 100'000);
  CHECK(run.stuck == 3);
  // One switch back, and all end: the first request is served alone until it has all its blocks.
  setup.config.reserve_full_isl = true;
  CHECK(run_engine(workload, setup).stuck == 0);
}

TEST_CASE("each kind has a name", "[models]") {
  CHECK(name_of(Kind::kMutualLoads) == "mutual_loads");
  CHECK(name_of(Kind::kStrandedLoads) == "stranded_loads");
  CHECK(name_of(Kind::kUnansweredLookup) == "unanswered_lookup");
  CHECK(name_of(Kind::kNeverFits) == "never_fits");
  CHECK(name_of(Kind::kOverBudget) == "over_budget");
  CHECK(name_of(Kind::kPreemptionLoop) == "preemption_loop");
}

}  // namespace
}  // namespace spillway::test
