// Limits of a step, chunked prefill off, deferred frees, and classes of requests, each as vLLM v1's
// scheduler has it.
#include "tests/support/scheduler_bench.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;

EngineConfig small(std::uint32_t usable, std::uint32_t budget) {
  EngineConfig config;
  config.block_tokens = 64;
  config.num_gpu_blocks = usable + 1;
  config.max_num_seqs = 8;
  config.max_num_batched_tokens = budget;
  config.block_bytes = Bytes(4096);
  return config;
}

std::vector<std::uint32_t> tokens_of(const StepPlan& plan) {
  std::vector<std::uint32_t> out;
  for (const ScheduledTokens& item : plan.items) out.push_back(item.tokens);
  return out;
}
using Tokens = std::vector<std::uint32_t>;

// ---- the budget of a step
// ------------------------------------------------------------------------

TEST_CASE("a step schedules max_num_scheduled_tokens where they are given", "[models]") {
  EngineConfig config = small(8, 200);
  config.max_num_scheduled_tokens = 50;
  SchedulerBench bench({{0, 120, 2, {1, 2}}}, config, false);
  bench.arrive(0);
  CHECK(tokens_of(bench.step()) == Tokens{50});
  CHECK(tokens_of(bench.step()) == Tokens{50});
  CHECK(tokens_of(bench.step()) == Tokens{20});
}

TEST_CASE("a long prompt takes no more than its cap, waiting or running", "[models]") {
  // Threshold 30: requests 0 and 1 take 30 tokens a step each until 70 and 40 are done.
  EngineConfig config = small(8, 200);
  config.long_prefill_token_threshold = 30;
  SchedulerBench bench({{0, 70, 2, {1, 2}}, {0, 40, 2, {3}}}, config, false);
  bench.arrive(0);
  bench.arrive(1);
  CHECK(tokens_of(bench.step()) == Tokens{30, 30});
  CHECK(tokens_of(bench.step()) == Tokens{30, 10});
  CHECK(tokens_of(bench.step()) == Tokens{10, 1});
}

TEST_CASE("nothing is computed at the last position of max_model_len", "[models]") {
  // 64 + 3 = 67 tokens, the limit itself: KV of 66 positions is written, and the run ends.
  Setup setup;
  setup.config.max_model_len = 67;
  for (const bool async : {false, true}) {
    setup.config.async_scheduling = async;
    const Workload workload = workload_of({{0, 64, 3, {1}}, {0, 64, 4, {2}}}, kTraceBlock);
    const EngineRun run = run_engine(workload, setup);
    CHECK(run.journal.requests[0].status == RequestStatus::kCompleted);
    CHECK(run.journal.requests[1].reason == Reason::kTooLong);
    std::uint32_t tokens = 0;
    for (const StepRecord& step : run.journal.steps) tokens += step.scheduled_tokens;
    CHECK(tokens == 66);
  }
}

// ---- chunked prefill off
// -------------------------------------------------------------------------

TEST_CASE("without chunks a prompt waits for a step that takes it whole", "[models]") {
  // 64 tokens a step. Request 0 decodes, which leaves 63: request 1's 64 wait until it has ended,
  // and so does request 2 behind it, whose 8 would fit.
  EngineConfig config = small(8, 64);
  config.chunked_prefill = false;
  SchedulerBench bench({{0, 60, 3, {1}}, {0, 64, 1, {2}}, {0, 8, 1, {3}}}, config, false);
  bench.arrive(0);
  CHECK(tokens_of(bench.step()) == Tokens{60});
  bench.arrive(1);
  bench.arrive(2);
  CHECK(tokens_of(bench.step()) == Tokens{1});
  CHECK(tokens_of(bench.step()) == Tokens{1});
  CHECK(tokens_of(bench.step()) == Tokens{64});
  CHECK(tokens_of(bench.step()) == Tokens{8});
}

TEST_CASE("with chunks the same prompt starts at once", "[models]") {
  SchedulerBench bench({{0, 60, 3, {1}}, {0, 64, 1, {2}}}, small(8, 64), false);
  bench.arrive(0);
  bench.step();
  bench.arrive(1);
  CHECK(tokens_of(bench.step()) == Tokens{1, 63});
}

// ---- deferred frees
// ------------------------------------------------------------------------------

/// Three requests of one block each fill the pool; all need a second one at the same step.
struct Crowd {
  explicit Crowd(bool defer) : bench(rows(), config(defer), true) {
    for (std::uint32_t i = 0; i < 3; ++i) handles.push_back(bench.arrive(i));
    first = bench.schedule();
  }
  static std::vector<Row> rows() { return {{0, 64, 9, {1}}, {0, 64, 9, {2}}, {0, 64, 9, {3}}}; }
  static EngineConfig config(bool defer) {
    EngineConfig out = small(3, 200);
    out.async_scheduling = true;
    out.defer_block_free = defer;
    return out;
  }
  std::vector<Handle> handles;
  StepPlan first;
  SchedulerBench bench;
};

TEST_CASE("deferred frees: every victim is taken, down to the request itself", "[models]") {
  // vLLM issue 49674. Step 1 is in flight while step 2 is scheduled. Request 0 asks for a block:
  // request 2 is preempted, but step 1 may still write its block, which therefore stays in use; so
  // it goes for 1, and for 0 itself. The step computes nothing.
  Crowd crowd(true);
  SchedulerBench& bench = crowd.bench;
  const StepPlan second = bench.schedule();
  CHECK(second.preempted ==
        std::vector<Handle>{crowd.handles[2], crowd.handles[1], crowd.handles[0]});
  CHECK(second.items.empty());
  CHECK(bench.pool.free() == 0);
  bench.end(crowd.first);  // the outputs of step 1 are there: its blocks return
  CHECK(bench.pool.free() == 3);
  CHECK(bench.requests[crowd.handles[0]].generated == 1);
  // First come, first served: request 0 resumes. Its 65 tokens need two blocks, so does request 1.
  const StepPlan third = bench.schedule();
  REQUIRE(third.items.size() == 1);
  CHECK(third.items[0].request == crowd.handles[0]);
}

TEST_CASE("frees at once: one victim is enough", "[models]") {
  Crowd crowd(false);
  const StepPlan second = crowd.bench.schedule();
  // Request 2's block serves request 0; request 1 then gives way to nobody but itself.
  CHECK(second.preempted == std::vector<Handle>{crowd.handles[2], crowd.handles[1]});
  REQUIRE(second.items.size() == 1);
  CHECK(second.items[0].request == crowd.handles[0]);
}

TEST_CASE("what no step in flight writes is free at once", "[models]") {
  // Budget 65: step 1 computes request 0 whole, and one token of request 1. Step 2 gives request 0
  // nothing (its next token is not known, and counted), 1 the rest. Step 1 has ended when step 3 is
  // planned, so a request that step 2 left out frees its blocks immediately.
  EngineConfig config = small(2, 64);
  config.async_scheduling = true;
  config.defer_block_free = true;
  config.long_prefill_token_threshold = 32;
  SchedulerBench bench({{0, 64, 9, {1}}, {0, 60, 9, {2}}}, config, true);
  bench.arrive(0);
  const Handle later = bench.arrive(1);
  const StepPlan first = bench.schedule();
  CHECK(tokens_of(first) == Tokens{32, 32});
  bench.end(first);
  const StepPlan second = bench.schedule();
  CHECK(tokens_of(second) == Tokens{32, 28});
  bench.end(second);  // nothing is in flight
  const StepPlan third = bench.schedule();
  REQUIRE(third.preempted.size() == 1);
  CHECK(third.preempted[0] == later);
  CHECK(tokens_of(third) == Tokens{1});
}

TEST_CASE("deferred frees cost preemptions, and every request still ends", "[models]") {
  Setup setup;
  setup.config.num_gpu_blocks = 33;
  setup.config.async_scheduling = true;
  setup.dram_blocks = 200;
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 6; ++i) rows.push_back({0, 64, 60, {i}});
  const Workload workload = workload_of(rows, kTraceBlock);
  const EngineRun at_once = run_engine(workload, setup);
  setup.config.defer_block_free = true;
  const EngineRun deferred = run_engine(workload, setup);
  CHECK(at_once.journal.preempted.size() > 0);
  CHECK(deferred.journal.preempted.size() > at_once.journal.preempted.size());
  for (const RequestRecord& r : deferred.journal.requests) {
    CHECK(r.status == RequestStatus::kCompleted);
  }
}

TEST_CASE("without a connector nothing is deferred", "[models]") {
  // vLLM defers only where a connector may load into the blocks.
  Setup setup;
  setup.config.num_gpu_blocks = 33;
  setup.config.async_scheduling = true;
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 6; ++i) rows.push_back({0, 64, 60, {i}});
  const Workload workload = workload_of(rows, kTraceBlock);
  const EngineRun plain = run_engine(workload, setup);
  setup.config.defer_block_free = true;
  const EngineRun same = run_engine(workload, setup);
  CHECK(plain.journal.preempted == same.journal.preempted);
  CHECK(plain.end == same.end);
}

// ---- classes
// -------------------------------------------------------------------------------------

/// Requests 0 and 1 leave 8 blocks each; 2 pushes them out of HBM; 3 and 4 repeat them.
EngineRun run_classes(const RequestClass& second) {
  Setup setup;
  setup.config.num_gpu_blocks = 25;
  setup.dram_blocks = 200;
  setup.classes = {{}, second};
  const Workload workload = workload_of({{0, 128, 1, {1, 2}, "a"},
                                         {100, 128, 1, {3, 4}, "b"},
                                         {200, 384, 1, {5, 6, 7, 8, 9, 10}, "a"},
                                         {300, 128, 1, {1, 2}, "a"},
                                         {400, 128, 1, {3, 4}, "b"}},
                                        kTraceBlock);
  return run_engine(workload, setup);
}

TEST_CASE("a class without offload neither stores nor loads", "[models]") {
  const EngineRun run = run_classes({0, false, ~0U});
  CHECK(run.journal.requests[3].cached_tokens[1] == 128);
  CHECK(run.journal.requests[4].cached_tokens[1] == 0);
  CHECK(run.offload.store_jobs == 2);  // of requests 0 and 2; 3's blocks are below already
  CHECK(run.offload.load_jobs == 1);
  // Nor does it ask: 8 blocks of request 0, 24 of request 2, 8 of request 3.
  CHECK(run.offload.queries == 8 + 24 + 8);
}

TEST_CASE("max_offload_tokens stores the head of a request, and loads what is there", "[models]") {
  // vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py clips what is stored, not
  // what is looked up. 70 tokens are 4 whole blocks.
  const EngineRun run = run_classes({0, true, 70});
  CHECK(run.journal.requests[3].cached_tokens[1] == 128);
  CHECK(run.journal.requests[4].cached_tokens[1] == 64);
  const EngineRun none = run_classes({0, true, 0});
  CHECK(none.journal.requests[4].cached_tokens[1] == 0);
  CHECK(none.offload.queries == 8 + 8 + 24 + 8 + 8);
}

TEST_CASE("what one class stored another one loads, unless it may not", "[models]") {
  const auto run_with = [](bool offload) {
    Setup setup;
    setup.config.num_gpu_blocks = 25;
    setup.dram_blocks = 200;
    setup.classes = {{}, {0, offload, 0}};
    const Workload workload = workload_of({{0, 128, 1, {1, 2}, "a"},
                                           {200, 384, 1, {5, 6, 7, 8, 9, 10}, "a"},
                                           {300, 128, 1, {1, 2}, "b"}},
                                          kTraceBlock);
    return run_engine(workload, setup).journal.requests[2].cached_tokens[1];
  };
  CHECK(run_with(true) == 128);  // it stores nothing, yet loads
  CHECK(run_with(false) == 0);
}

}  // namespace
}  // namespace spillway::test
