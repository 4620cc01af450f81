// Priority scheduling (vllm/v1/core/sched/scheduler.py, policy "priority"): who enters, who gives
// way, and what a step does with tokens that it had given already.
#include "tests/support/scheduler_bench.hpp"

namespace spillway::test {
namespace {

EngineConfig by_priority(std::uint32_t block_tokens, std::uint32_t usable, std::uint32_t budget) {
  EngineConfig config;
  config.block_tokens = block_tokens;
  config.num_gpu_blocks = usable + 1;
  config.max_num_seqs = 8;
  config.max_num_batched_tokens = budget;
  config.block_bytes = Bytes(4096);
  config.priority_scheduling = true;
  return config;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> items(const StepPlan& plan) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const ScheduledTokens& item : plan.items) {
    out.emplace_back(static_cast<std::uint32_t>(item.request), item.tokens);
  }
  return out;
}
using Items = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

TEST_CASE("by priority, an important request overtakes those that wait", "[models]") {
  // One slot. Request 0 runs; 1 (priority 5) waits before 2 (priority 0) arrives; 2 goes first.
  Setup setup;
  setup.config.max_num_seqs = 1;
  setup.config.priority_scheduling = true;
  setup.classes = {{5}, {0}};
  const Workload workload = workload_of(
      {{0, 64, 20, {1}, "batch"}, {1, 64, 1, {2}, "batch"}, {2, 64, 1, {3}, "chat"}}, 64);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[2].scheduled == run.journal.requests[0].finish);
  CHECK(run.journal.requests[1].scheduled == run.journal.requests[2].finish);
  // It does not take a running request's slot: only blocks make vLLM preempt.
  CHECK(run.journal.preempted.empty());
}

TEST_CASE("the victim is the least important, whenever it was admitted", "[models]") {
  // Blocks of 64. Request 0 (priority 9) is admitted first; when request 1 needs its second block
  // of three, 0 gives way; first come, first served it would have been 1, the last one, itself.
  EngineConfig config = by_priority(64, 2, 200);
  const std::vector<Row> rows = {{0, 60, 20, {1}}, {1, 64, 20, {2}}};
  for (const bool priorities : {true, false}) {
    config.priority_scheduling = priorities;
    SchedulerBench bench(rows, config, false);
    const Handle minor = bench.arrive(0, 9);
    CHECK(items(bench.step()) == Items{{0, 60}});
    const Handle major = bench.arrive(1, 0);
    CHECK(items(bench.step()) == Items{{0, 1}, {1, 64}});
    const StepPlan plan = bench.step();
    REQUIRE(plan.preempted.size() == 1);
    CHECK(plan.preempted[0] == (priorities ? minor : major));
    CHECK(items(plan) == (priorities ? Items{{1, 1}} : Items{{0, 1}}));
  }
}

TEST_CASE("a victim that this step had served gives its tokens back", "[models]") {
  // Blocks of 64, three of them, 40 tokens a step. Step 1: 10 of request 0. Step 2: 1, and 39 of
  // request 1. Step 3: 1, 25 (64 in all), and 14 of request 2. Step 4: request 0 takes 1 token,
  // then request 1 needs a block: 0 (priority 9) gives way and leaves the step, 40 tokens are there
  // again, 1 for request 1 and 39 for request 2.
  SchedulerBench bench({{0, 10, 20, {1}}, {0, 64, 20, {2}}, {0, 60, 1, {3}}},
                       by_priority(64, 3, 40), false);
  const Handle minor = bench.arrive(0, 9);
  CHECK(items(bench.step()) == Items{{0, 10}});
  bench.arrive(1, 0);
  bench.arrive(2, 0);
  CHECK(items(bench.step()) == Items{{0, 1}, {1, 39}});
  CHECK(items(bench.step()) == Items{{0, 1}, {1, 25}, {2, 14}});
  const StepPlan plan = bench.step();
  REQUIRE(plan.preempted.size() == 1);
  CHECK(plan.preempted[0] == minor);
  CHECK(items(plan) == Items{{1, 1}, {2, 39}});
  CHECK(bench.requests[minor].computed == 0);
  CHECK(bench.requests[minor].generated == 3);  // what it had emitted stays
}

TEST_CASE("a request that is its own victim ends the walk", "[models]") {
  // Both need a block at the same step. Request 0 is asked first and is the least important: it
  // preempts itself, and request 1 is not looked at in this step.
  SchedulerBench bench({{0, 63, 20, {1}}, {1, 64, 20, {2}}}, by_priority(64, 2, 200), false);
  const Handle minor = bench.arrive(0, 9);
  bench.step();
  bench.arrive(1, 0);
  CHECK(items(bench.step()) == Items{{0, 1}, {1, 64}});
  const StepPlan plan = bench.step();
  REQUIRE(plan.preempted.size() == 1);
  CHECK(plan.preempted[0] == minor);
  CHECK(plan.items.empty());
  CHECK(items(bench.step()) == Items{{1, 1}});  // request 0 does not fit beside it
}

TEST_CASE("of equally important requests the latest arrival gives way", "[models]") {
  // Admitted in the order of requests 0, 2, 1, which arrived at 5, 7 and 6 ms. When request 0 needs
  // a second block, 2 goes, not the last in the list.
  SchedulerBench bench({{5, 60, 20, {1}}, {6, 40, 20, {2}}, {7, 40, 20, {3}}},
                       by_priority(64, 3, 200), false);
  bench.arrive(0);
  bench.step();
  const Handle latest = bench.arrive(2);
  bench.step();
  bench.arrive(1);
  bench.step();
  CHECK(bench.scheduler.running() == 3);
  std::vector<Handle> preempted;
  for (int i = 0; i < 9 && preempted.empty(); ++i) preempted = bench.step().preempted;
  CHECK(preempted == std::vector<Handle>{latest});
}

TEST_CASE("preempted by priority, a request queues behind what is more important", "[models]") {
  // Request 0 (priority 9) loses its blocks to 1; 2 (priority 3) arrives and enters before it, and
  // 3 (priority 9, later) after it.
  SchedulerBench bench({{0, 60, 20, {1}}, {1, 64, 3, {2}}, {2, 60, 1, {3}}, {3, 60, 1, {4}}},
                       by_priority(64, 2, 200), false);
  bench.arrive(0, 9);
  bench.arrive(1, 0);
  bench.step();
  bench.step();
  bench.arrive(2, 3);
  bench.arrive(3, 9);
  std::vector<std::uint32_t> entered;
  for (int i = 0; i < 30 && entered.size() < 3; ++i) {
    for (const auto& [request, tokens] : items(bench.step())) {
      if (tokens > 1) entered.push_back(request);
    }
  }
  CHECK(entered == std::vector<std::uint32_t>{2, 0, 3});
}

}  // namespace
}  // namespace spillway::test
