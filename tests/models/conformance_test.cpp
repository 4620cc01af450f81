// The conformance cases of the engine specification that concern the scheduler, the prefix cache
// and the CPU tier, and what else of them one would ask. Those that its section 9 numbers have that
// number. Each tells a history of a few requests; times follow the reference scenario's step of 2
// ms
// + 20 us a token + 5 ns a token of context.
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16

std::int64_t ns(Time t) {
  return nanoseconds_of(t);
}

TEST_CASE("section 9 (1): an aligned prompt that HBM holds entirely recomputes its last block",
          "[models]") {
  // 128 tokens = 8 blocks. The second request may hit floor(127 / 16) = 7 of them and computes 16
  // tokens, not one.
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {100, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, Setup{});
  CHECK(run.journal.requests[1].cached_tokens[0] == 112);
  REQUIRE(run.journal.steps.size() == 2);
  CHECK(run.journal.steps[1].scheduled_tokens == 16);
  CHECK(ns(run.journal.requests[1].first_token) == 100'000'000 + step_ns(16, 128));
}

TEST_CASE("section 9 (1): after a load from below, an aligned prompt recomputes one token",
          "[models]") {
  // Request 0's blocks reach DRAM; requests 1 to 3 push them out of the pool of 20 blocks; request
  // 4 repeats request 0. HBM has none of its 8 blocks, DRAM all 8 (the external limit is floor(T /
  // 16)), so all 128 tokens are loaded and one is computed.
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.dram_blocks = 100;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                         {100, 256, 1, {3, 4, 5, 6}},
                                         {200, 256, 1, {7, 8, 9, 10}},
                                         {300, 64, 1, {11}},
                                         {400, 128, 1, {1, 2}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  const RequestRecord& last = run.journal.requests[4];
  CHECK(last.cached_tokens[0] == 0);
  CHECK(last.cached_tokens[1] == 128);
  CHECK(run.journal.steps.back().scheduled_tokens == 1);
  // The load: 8 blocks of 2 MiB over 25 GB/s after 10 us; then a step of one token on 128 of
  // context.
  const std::int64_t load = 10'000 + (8 * 2'097'152 + 24) / 25;
  CHECK(ns(last.scheduled) == 400'000'000 + load);
  CHECK(ns(last.first_token) == 400'000'000 + load + step_ns(1, 128));
}

TEST_CASE("section 9 (2): within a request the tail is evicted first", "[models]") {
  // The pool has 12 blocks. Request 0 leaves 8 cached, request 1 needs 6 with 4 free, so two of
  // request 0's blocks go: the last two. Request 2 then finds its first six.
  Setup setup;
  setup.config.num_gpu_blocks = 13;
  const Workload workload =
      workload_of({{0, 128, 1, {1, 2}}, {100, 96, 1, {3, 4}}, {200, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[2].cached_tokens[0] == 6 * 16);
}

TEST_CASE("section 9 (3): a request hits the blocks of another one admitted in the same step",
          "[models]") {
  // Both arrive at 0. Blocks enter the cache when they are allocated, so the second one computes
  // only what the first does not: 128 - 64 tokens.
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {0, 128, 1, {1, 3}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, Setup{});
  REQUIRE(run.journal.steps.size() == 1);
  CHECK(run.journal.steps[0].scheduled_tokens == 128 + 64);
  CHECK(run.journal.requests[1].cached_tokens[0] == 64);
}

TEST_CASE("section 9 (3): of a chunk admitted in the same step only its own blocks are hit",
          "[models]") {
  // 104 tokens a step: request 0 takes 96, the cap of a long prefill, so 6 of its 8 blocks are
  // allocated. Request 1 hits these 6, and 8 tokens are left for it.
  Setup setup;
  setup.config.max_num_batched_tokens = 104;
  setup.config.long_prefill_token_threshold = 96;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {0, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.steps[0].scheduled_tokens == 96 + 8);
  CHECK(run.journal.requests[1].cached_tokens[0] == 96);
}

TEST_CASE("section 9 (2): a decode's blocks leave before the prompt they continue", "[models]") {
  // 128 + 40 tokens: 10 full blocks are hashed, an eleventh is not. The pool has 12; request 1
  // needs 4: the block never used, the unhashed one, then the last two of the answer. Request 2
  // finds the prompt whole, but for the last block, which it computes.
  Setup setup;
  setup.config.num_gpu_blocks = 13;
  const Workload workload =
      workload_of({{0, 128, 40, {1, 2}}, {1000, 64, 1, {3}}, {2000, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[2].cached_tokens[0] == 112);
  CHECK(run.hbm_evictions == 2 + 1);
}

TEST_CASE("a refused batch of stores is offered again, larger", "[models]") {
  // DRAM holds 4 blocks. Request 0's 4 blocks are still being written (10 us + 8 MiB over 0.1 GB/s
  // = 84 ms) when request 1 offers its first 4: nothing is evictable, the batch is refused. Its
  // second chunk offers all 8, which can never fit: refused as well.
  Setup setup;
  setup.dram_blocks = 4;
  setup.bytes_per_second = 100'000'000;
  setup.config.max_num_batched_tokens = 64;
  const Workload workload = workload_of({{0, 64, 1, {1}}, {4, 128, 1, {2, 3}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  // Two refusals while it runs, one more when it is offered after its end.
  CHECK(run.offload.store_failures == 3);
  CHECK(run.offload.store_jobs == 1);
}

TEST_CASE("section 9 (6): a store that reads a reallocated block is flushed, and the step waits",
          "[models]") {
  // The pool has 8 blocks. Request 0 fills them and ends; its store of 8 blocks (16 MiB over 1
  // GB/s) is submitted at the next step. Request 1 arrives meanwhile and needs the same 8 slots:
  // its step waits until the store has read them.
  Setup setup;
  setup.config.num_gpu_blocks = 9;
  setup.dram_blocks = 100;
  setup.bytes_per_second = 1'000'000'000;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {1, 128, 1, {3, 4}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  const std::int64_t first_end = step_ns(128, 128);
  const std::int64_t store = 10'000 + 8 * 2'097'152;
  CHECK(run.offload.flushes == 1);
  CHECK(run.flush_stall.count() == store);
  REQUIRE(run.journal.steps.size() == 2);
  CHECK(run.journal.steps[1].stall.count() == store);
  CHECK(ns(run.journal.requests[1].first_token) == first_end + store + step_ns(128, 128));
}

TEST_CASE("a prefix being written defers the request that needs it", "[models]") {
  // Request 0's 8 blocks are being written (168 ms at 0.1 GB/s) and evicted from HBM by request 1.
  // Request 2 needs them: DRAM holds them, but not yet readable, so it waits for the write, loads,
  // and computes one token.
  Setup setup;
  setup.config.num_gpu_blocks = 13;
  setup.dram_blocks = 100;
  setup.bytes_per_second = 100'000'000;
  const Workload workload = workload_of(
      {{0, 128, 1, {1, 2}}, {10, 192, 1, {3, 4, 5}}, {20, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[2].cached_tokens[1] > 0);
  const auto& stores = run.journal.transfers;
  CHECK(run.journal.requests[2].scheduled > stores.front().ended);
}

TEST_CASE("issue 44294: two requests that need the same load form a convoy", "[models]") {
  // Requests 4 and 5 share all 8 blocks, which only DRAM holds. The first loads them; the second
  // waits for that load instead of loading again, and then finds them in HBM.
  const auto run_with = [](bool convoy) {
    Setup setup;
    setup.config.num_gpu_blocks = 33;
    setup.config.convoy = convoy;
    setup.dram_blocks = 100;
    setup.bytes_per_second = 1'000'000'000;
    const Workload workload = workload_of({{0, 132, 1, {1, 2, 20}},
                                           {300, 256, 1, {3, 4, 5, 6}},
                                           {600, 256, 1, {7, 8, 9, 10}},
                                           {900, 132, 1, {1, 2, 21}},
                                           {900, 132, 1, {1, 2, 22}}},
                                          kTraceBlock);
    return run_engine(workload, setup);
  };
  CHECK(run_with(true).offload.load_jobs == 1);
  CHECK(run_with(false).offload.load_jobs == 2);
}

TEST_CASE("preempted requests compute everything again, less what is still cached", "[models]") {
  // Two requests of 64 + 100 tokens need 2 x 11 blocks, the pool has 16: the later one is
  // preempted, resumes in front of the queue, and its first blocks are still there.
  Setup setup;
  setup.config.num_gpu_blocks = 17;
  const Workload workload = workload_of({{0, 64, 100, {1}}, {0, 64, 100, {2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  REQUIRE(run.journal.preempted.size() == 1);
  CHECK(raw(run.journal.preempted[0]) == 1);
  CHECK(run.journal.requests[1].preemptions == 1);
  CHECK(run.journal.requests[1].status == RequestStatus::kCompleted);
  std::uint64_t repeated = 0;
  for (const StepRecord& step : run.journal.steps) repeated += step.recomputed_tokens;
  CHECK(repeated > 0);
  CHECK(repeated < 64 + 100);
}

TEST_CASE("head-of-line blocking: nothing behind a head that does not fit is tried", "[models]") {
  // Request 0 holds 8 of 12 blocks while it decodes. Request 1 needs 8 and waits; request 2 would
  // fit its 2 blocks but must not overtake.
  Setup setup;
  setup.config.num_gpu_blocks = 13;
  const Workload workload =
      workload_of({{0, 120, 8, {1, 2}}, {1, 128, 1, {3, 4}}, {1, 32, 1, {5}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[1].scheduled >= run.journal.requests[0].finish);
  CHECK(run.journal.requests[2].scheduled >= run.journal.requests[1].scheduled);
}

TEST_CASE("section 9 (11): the known deadlock ends as stuck requests, never as a hang",
          "[models]") {
  // vLLM issue 45388: the head cannot be allocated, finished loads behind it hold the blocks it
  // needs. Requests 0 to 2 leave three chains in DRAM. Then 3 and 4 start to load, and a longer
  // head of the queue takes the walk before they are promoted. Without the reservation for async
  // loads this wedges.
  Setup setup;
  setup.config.num_gpu_blocks = 17;
  setup.config.async_load_reservation = false;
  setup.config.reserve_full_isl = false;
  setup.dram_blocks = 100;
  setup.bytes_per_second = 1'000'000'000;
  // Each of the last two loads 8 of its 12 blocks, which fills the pool of 16; then each needs 4
  // more.
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                         {500, 128, 1, {3, 4}},
                                         {1000, 256, 1, {5, 6, 7, 8}},
                                         {1500, 192, 1, {1, 2, 9}},
                                         {1500, 192, 1, {3, 4, 10}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.stuck == 2);
  CHECK(run.journal.requests[3].status == RequestStatus::kStuck);
  CHECK(run.journal.requests[4].reason == Reason::kDeadlock);
  REQUIRE(run.standstill.has_value());
  CHECK(run.standstill->kind == Standstill::Kind::kMutualLoads);
  setup.config.async_load_reservation = true;
  CHECK(run_engine(workload, setup).stuck == 0);
}

TEST_CASE("requests that can never fit are turned away at arrival", "[models]") {
  Setup setup;
  setup.config.num_gpu_blocks = 9;  // 8 usable blocks: 128 tokens
  setup.config.max_model_len = 160;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},       // 128 tokens of KV: fits
                                         {1, 128, 2, {3, 4}},       // 129: does not
                                         {2, 150, 11, {5, 6, 7}}},  // 161 > 160
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[0].status == RequestStatus::kCompleted);
  CHECK(run.journal.requests[1].status == RequestStatus::kRejected);
  CHECK(run.journal.requests[1].reason == Reason::kExceedsPool);
  CHECK(run.journal.requests[2].status == RequestStatus::kFailed);
  CHECK(run.journal.requests[2].reason == Reason::kTooLong);
}

TEST_CASE("long prompts are prefilled in chunks of the batch budget", "[models]") {
  // 300 tokens at 128 a step: 128, 128, 44, each behind the tokens already computed.
  Setup setup;
  setup.config.max_num_batched_tokens = 128;
  const Workload workload = workload_of({{0, 300, 1, {1, 2, 3, 4, 5}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(ns(run.journal.requests[0].first_token) ==
        step_ns(128, 128) + step_ns(128, 256) + step_ns(44, 300));
}

TEST_CASE("with two batches in flight a request waits one step more below saturation", "[models]") {
  // Request 0 decodes; request 1 arrives inside step 2. Synchronously it is scheduled when that
  // step ends; asynchronously the next step is planned already, so it joins the one after.
  Setup setup;
  const Workload workload = workload_of({{0, 64, 20, {1}}, {5, 64, 1, {2}}}, kTraceBlock);
  const EngineRun sync = run_engine(workload, setup);
  setup.config.async_scheduling = true;
  const EngineRun async = run_engine(workload, setup);
  CHECK(async.journal.requests[1].first_token > sync.journal.requests[1].first_token);
  CHECK(async.journal.requests[0].finish >= sync.journal.requests[0].finish);
}

TEST_CASE("PR 43946: a tier no larger than HBM adds nothing while HBM is never full", "[models]") {
  // One-token outputs and a pool that holds every block: whatever DRAM holds, HBM holds as well, so
  // not one block comes from below and every time is unchanged.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 60; ++i) {
    rows.push_back(
        {static_cast<std::int64_t>(40 * i), 200, 1, {i % 7, 100 + i % 11, 200 + i, 300 + i}});
  }
  const Workload workload = workload_of(rows, kTraceBlock);
  Setup setup;
  const EngineRun alone = run_engine(workload, setup);
  setup.dram_blocks = 1000;
  const EngineRun tiered = run_engine(workload, setup);
  REQUIRE(alone.hbm_evictions == 0);
  CHECK(tiered.offload.hits == 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(tiered.journal.requests[i].finish == alone.journal.requests[i].finish);
  }
}

}  // namespace
}  // namespace spillway::test
