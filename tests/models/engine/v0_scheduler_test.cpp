// vLLM v0's two policies, schedule by schedule, without a clock. Blocks of 16 tokens.
#include "models/engine/schedulers/v0_scheduler.hpp"

#include <memory>

#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

/// A scheduler whose steps end as soon as they are planned.
struct Bench {
  explicit Bench(EngineConfig given) : config(given), requests(64) {
    config.family = EngineFamily::kVllmV0;
    config.block_tokens = 16;
    scheduler = std::make_unique<V0Scheduler>(
        V0Scheduler::Environment{config, v0_rules(config), v0_step(config), requests, journal});
  }

  Handle add(std::uint32_t prompt, std::uint32_t output = 100) {
    const Handle h = requests.make();
    requests[h].id = RequestId{static_cast<std::uint32_t>(h)};
    requests[h].prompt = prompt;
    requests[h].output = output;
    scheduler->enqueue(h);
    return h;
  }

  /// Schedules, and collects what the step computed.
  const StepPlan& step() {
    scheduler->schedule(Time{}, plan);
    scheduler->apply(plan);
    for (const ScheduledTokens& item : plan.items) {
      if (item.samples) scheduler->collect(requests[item.request]);
    }
    return plan;
  }

  /// The step's requests and tokens, in order: "0:48 1:1".
  std::string told() const {
    std::string out;
    for (const ScheduledTokens& item : plan.items) {
      out += (out.empty() ? "" : " ") + std::to_string(static_cast<std::uint32_t>(item.request)) +
             ":" + std::to_string(item.tokens);
    }
    return out;
  }

  EngineConfig config;
  RequestPool requests;
  Journal journal;
  StepPlan plan;
  std::unique_ptr<V0Scheduler> scheduler;
};

EngineConfig config_of(std::uint32_t gpu_blocks, bool chunked, std::uint32_t cpu_blocks) {
  EngineConfig config;
  config.num_gpu_blocks = gpu_blocks;
  config.chunked_prefill = chunked;
  config.swap = {cpu_blocks, cpu_blocks > 0};
  config.max_num_batched_tokens = 64;
  config.max_num_seqs = 8;
  return config;
}

TEST_CASE("v0 computes prompts or decodes, never both", "[models]") {
  Bench bench(config_of(100, false, 0));
  bench.add(30);
  bench.add(30);
  bench.add(30);
  bench.step();
  CHECK(bench.told() == "0:30 1:30");  // a third would make 90 of 64 tokens
  bench.step();
  CHECK(bench.told() == "2:30");  // prompts first: 0 and 1 wait
  bench.step();
  CHECK(bench.told() == "0:1 1:1 2:1");
  bench.add(64);
  bench.step();
  CHECK(bench.told() == "3:64");
  bench.step();
  CHECK(bench.told() == "0:1 1:1 2:1 3:1");
}

TEST_CASE("v0 fails prompts longer than a step, or than its pool less the watermark", "[models]") {
  EngineConfig config = config_of(4, false, 0);
  config.watermark = 0.25;
  Bench bench(config);
  const Handle longer = bench.add(65);
  const Handle larger = bench.add(49);  // 4 blocks of 4, and one is the watermark
  bench.add(48);
  bench.step();
  CHECK(bench.told() == "2:48");
  REQUIRE(bench.plan.refused.size() == 2);
  CHECK(bench.plan.refused[0].request == longer);
  CHECK(bench.plan.refused[0].reason == Reason::kTooLong);
  CHECK(bench.plan.refused[1].request == larger);
  CHECK(bench.plan.refused[1].reason == Reason::kExceedsPool);
}

TEST_CASE("max_num_seqs counts those that run", "[models]") {
  EngineConfig config = config_of(100, false, 0);
  config.max_num_seqs = 2;
  Bench bench(config);
  for (int i = 0; i < 3; ++i) bench.add(16);
  bench.step();
  CHECK(bench.told() == "0:16 1:16");
  bench.step();
  CHECK(bench.told() == "0:1 1:1");
  bench.scheduler->finish(Handle{0}, Time{});
  bench.step();
  CHECK(bench.told() == "2:16");
}

// 0, 1 and 2 hold 3 full blocks of 12 each and take a fourth. Then 0 wants a free block and takes
// 2's place.
TEST_CASE("requests that recompute keep their order at the front of the queue", "[models]") {
  EngineConfig config = config_of(12, false, 0);
  config.max_num_batched_tokens = 256;
  Bench bench(config);
  for (int i = 0; i < 3; ++i) bench.add(48);
  bench.step();
  bench.step();
  CHECK(bench.told() == "0:1 1:1 2:1");
  CHECK(bench.scheduler->blocks().gpu().free == 0);
  bench.add(48);  // comes later: behind the preempted one
  bench.step();
  CHECK(bench.told() == "0:1 1:1");
  CHECK(bench.plan.preempted == std::vector<Handle>{Handle{2}});
  CHECK(bench.requests[Handle{2}].computed == 0);
  CHECK(bench.scheduler->queued() == std::vector<Handle>{Handle{2}, Handle{3}});
  bench.step();
  CHECK(bench.told() == "2:50");  // prompt and two tokens of answer: 4 blocks of the 4 free ones
}

// The same with a CPU pool and a watermark of one block. 2 leaves with 4 blocks; it needs 4 and the
// watermark, and 4 are free. 0 and 1 go on until each holds 6 blocks (81 tokens) and none is free.
// Then 1 leaves, and 2 comes back: 4 + 1 of 6 free ones. Had 1 stood first, its 6 + 1 would keep
// both out.
TEST_CASE("what is swapped out first comes back first, before any prompt", "[models]") {
  EngineConfig config = config_of(12, false, 100);
  config.max_num_batched_tokens = 256;
  config.watermark = 0.1;
  Bench bench(config);
  for (int i = 0; i < 3; ++i) bench.add(48);
  bench.step();
  CHECK(bench.told() == "0:48 1:48 2:48");
  bench.step();  // 49 tokens each
  bench.step();
  CHECK(bench.told() == "0:1 1:1");
  CHECK(bench.plan.swapped_out == 4);
  bench.add(16);
  for (int tokens = 51; tokens <= 81; ++tokens) {
    bench.step();
    CHECK(bench.told() == "0:1 1:1");  // the prompt of one block waits while 2 is out
  }
  CHECK(bench.scheduler->blocks().gpu().free == 0);
  bench.step();
  CHECK(bench.told() == "0:1");
  CHECK(bench.plan.swapped_out == 6);
  CHECK(bench.plan.swapped_in == 0);  // not in a step that preempts
  CHECK(bench.scheduler->queued() == std::vector<Handle>{Handle{2}, Handle{1}, Handle{3}});
  bench.step();
  CHECK(bench.told() == "0:1 2:1");
  CHECK(bench.plan.swapped_in == 4);
  CHECK(bench.scheduler->queued() == std::vector<Handle>{Handle{1}, Handle{3}});
  CHECK(bench.requests[Handle{2}].computed == 50);  // 49 from before, and one
}

TEST_CASE("chunked prefill takes running, then swapped, then waiting requests", "[models]") {
  Bench bench(config_of(5, true, 100));
  bench.add(32);
  bench.add(32);
  bench.step();
  CHECK(bench.told() == "0:32 1:32");  // two blocks each
  // 0 takes the last block; 1 finds none, has nobody behind it, and leaves: 2 blocks are copied.
  bench.step();
  CHECK(bench.told() == "0:1");
  CHECK(bench.plan.swapped_out == 2);
  CHECK(bench.plan.preempted.empty());
  CHECK(bench.scheduler->queued() == std::vector<Handle>{Handle{1}});
  // 1 needs 3 of the 2 free blocks. A prompt of one block starts all the same, and stands first in
  // the step, as attention backends want it.
  bench.add(16);
  bench.step();
  CHECK(bench.told() == "2:16 0:1");
  // 0 ends: 4 blocks are free. 2 takes one, 1 comes back into three, and the next prompt waits.
  bench.scheduler->finish(Handle{0}, Time{});
  bench.add(16);
  bench.step();
  CHECK(bench.told() == "2:1 1:1");
  CHECK(bench.plan.swapped_in == 2);
  CHECK(bench.scheduler->queued() == std::vector<Handle>{Handle{3}});
}

TEST_CASE("chunked prefill cuts prompts to what decodes leave", "[models]") {
  Bench bench(config_of(100, true, 0));
  bench.add(20);
  bench.add(100);
  bench.step();
  CHECK(bench.told() == "0:20 1:44");
  bench.step();
  CHECK(bench.told() == "1:56 0:1");  // all the 56 left of 64 - 1
  bench.step();
  CHECK(bench.told() == "0:1 1:1");
}

TEST_CASE("a prompt that would restart for ever is not started", "[models]") {
  Bench bench(config_of(5, true, 0));  // no watermark
  bench.add(70);                       // 5 blocks, the last one with room; 64 tokens a step
  bench.add(16);
  CHECK_FALSE(bench.step().has_work());
  CHECK(bench.scheduler->queued() == std::vector<Handle>{Handle{0}, Handle{1}});
  Bench whole(config_of(5, true, 0));
  whole.add(80);  // 5 full blocks: nothing to append
  whole.step();
  whole.step();
  CHECK(whole.told() == "0:16");
}

// As above with two requests on 8 blocks: 1 has 49 tokens in 4 blocks, for which 3 are too few.
TEST_CASE("a swap-out without room ends the engine, and gives everything back", "[models]") {
  EngineConfig config = config_of(8, false, 3);
  config.max_num_batched_tokens = 256;
  Bench bench(config);
  bench.add(48);
  bench.add(48);
  bench.step();
  bench.step();
  const Handle waiting = bench.add(16);
  CHECK_FALSE(bench.scheduler->swaps().fatal);
  CHECK_FALSE(bench.step().has_work());
  const auto& fatal = bench.scheduler->swaps().fatal;
  REQUIRE(fatal);
  CHECK(fatal->request == RequestId{1});
  CHECK(fatal->needed == 4);
  CHECK(fatal->free == 3);
  CHECK(bench.scheduler->abandon() == std::vector<Handle>{Handle{0}, Handle{1}, waiting});
  CHECK(bench.scheduler->swaps().requests_out == 0);
  bench.scheduler->blocks().check_drained();
}

}  // namespace
}  // namespace spillway::test
