// vLLM's SimpleCPUOffloadConnector, eager and lazy: each case tells a history of a few requests.
// Times follow the reference scenario's step of 2 ms + 20 us a token + 5 ns a token of context.
#include "models/engine/connectors/simple_connector.hpp"

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16
constexpr std::int64_t kBlock = 16 * 131'072;

std::int64_t ns(Time t) {
  return nanoseconds_of(t);
}

/// `gpu` and `dram` are usable blocks.
Setup simple(std::uint32_t gpu, std::uint64_t dram, bool lazy = false) {
  Setup setup;
  setup.config.num_gpu_blocks = gpu + 1;
  setup.config.connector = ConnectorKind::kSimple;
  setup.config.lazy_offload = lazy;
  setup.dram_blocks = dram;
  return setup;
}

/// Time of a job of so many blocks at `gbs` GB/s behind 10 us.
std::int64_t copy_ns(std::int64_t blocks, std::int64_t gbs) {
  return 10'000 + (blocks * kBlock + gbs - 1) / gbs;
}

std::uint64_t stored(const EngineRun& run) {
  std::uint64_t sum = 0;
  for (const TierChange& c : run.journal.tier_changes) sum += c.tier == 1 ? c.stored : 0;
  return sum;
}

/// Bytes that link `link` moved: 0 is down, 1 is up.
std::int64_t moved(const EngineRun& run, std::uint32_t link) {
  std::int64_t sum = 0;
  for (const TransferRecord& t : run.journal.transfers) {
    if (t.link == link) sum += t.payload.count();
  }
  return sum;
}

TEST_CASE("eager: what HBM has lost is loaded from the CPU pool", "[models]") {
  // Request 0 fills 8 blocks in its first step; they are planned in its second, which starts with
  // them computed, and copied from that step's end. Requests 1 and 2 need 16 of 20 blocks each and
  // push them out. Request 3 repeats request 0: at most floor(127 / 16) = 7 blocks are loaded, and
  // the last one is computed again, where the OffloadingConnector would have loaded it too.
  Setup setup = simple(20, 100);
  const Workload workload = workload_of({{0, 128, 2, {1, 2}},
                                         {100, 256, 1, {3, 4, 5, 6}},
                                         {200, 256, 1, {7, 8, 9, 10}},
                                         {300, 128, 1, {1, 2}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  const std::int64_t second_step_ends = step_ns(128, 128) + step_ns(1, 129);
  REQUIRE(run.journal.transfers.size() == 2);
  CHECK(ns(run.journal.transfers[0].submitted) == second_step_ends);
  CHECK(ns(run.journal.transfers[0].ended) == second_step_ends + copy_ns(8, 25));
  CHECK(run.journal.requests[3].cached_tokens[0] == 0);
  CHECK(run.journal.requests[3].cached_tokens[1] == 7 * 16);
  CHECK(run.journal.steps.back().scheduled_tokens == 16);
  const std::int64_t loaded = 300'000'000 + copy_ns(7, 25);
  CHECK(ns(run.journal.requests[3].scheduled) == loaded);
  CHECK(ns(run.journal.requests[3].first_token) == loaded + step_ns(16, 128));
}

TEST_CASE("eager: what a request's last step fills is never stored", "[models]") {
  // vLLM #41704. A prompt of 256 tokens in four steps: each step plans what the steps before it
  // filled, 0, 4, 4 and 4 blocks. The last four are known when the request is gone.
  Setup setup = simple(100, 100);
  setup.config.max_num_batched_tokens = 64;
  const Row prompt{0, 256, 1, {1, 2, 3, 4}};
  const EngineRun ends = run_engine(workload_of({prompt}, kTraceBlock), setup);
  CHECK(ends.offload.store_jobs == 3);
  CHECK(stored(ends) == 12);
  // One more token is one more step, which finds them.
  const EngineRun goes_on =
      run_engine(workload_of({{0, 256, 2, {1, 2, 3, 4}}}, kTraceBlock), setup);
  CHECK(goes_on.offload.store_jobs == 4);
  CHECK(stored(goes_on) == 16);
}

TEST_CASE("eager: answers are stored too", "[models]") {
  // 16 prompt tokens and 33 generated: 48 computed in all. The step that computes token 17 plans
  // the first block, that of token 33 the second; token 48 fills the third in the last step.
  const EngineRun run = run_engine(workload_of({{0, 16, 33, {1}}}, kTraceBlock), simple(100, 100));
  CHECK(stored(run) == 2);
}

TEST_CASE("blocks that are being copied cannot be handed out, and no step waits", "[models]") {
  // Request 0 holds 17 of 20 blocks and ends with the step that plans the copy of 16: these keep
  // one user until the copy ends. Request 1 needs 16 blocks and finds 4, so it waits in the queue.
  Setup setup = simple(20, 100);
  setup.bytes_per_second = 1'000'000'000;
  const Workload workload =
      workload_of({{0, 256, 2, {1, 2, 3, 4}}, {1, 256, 1, {5, 6, 7, 8}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  const std::int64_t ends = step_ns(256, 256) + step_ns(1, 257);
  CHECK(ns(run.journal.requests[0].finish) == ends);
  CHECK(ns(run.journal.requests[1].scheduled) == ends + copy_ns(16, 1));
  CHECK(run.flush_stall.count() == 0);
}

TEST_CASE("blocks released by a copy leave HBM head first", "[models]") {
  // The pool has 12 blocks, of which request 0 leaves 8 cached. Request 1 needs 6; 4 are free, so
  // two of the 8 go. Without a tier these are the last two, and request 2 finds six. With it they
  // return to the free queue when the copy ends, in the copy's order: the first two go, and with
  // them every hit in HBM. The CPU pool has the 7 that may be loaded.
  const Workload workload =
      workload_of({{0, 128, 2, {1, 2}}, {100, 96, 1, {3, 4}}, {200, 128, 1, {1, 2}}}, kTraceBlock);
  Setup setup = simple(12, 100);
  const EngineRun tiered = run_engine(workload, setup);
  CHECK(tiered.journal.requests[2].cached_tokens[0] == 0);
  CHECK(tiered.journal.requests[2].cached_tokens[1] == 7 * 16);
  setup.dram_blocks = 0;
  const EngineRun alone = run_engine(workload, setup);
  CHECK(alone.journal.requests[2].cached_tokens[0] == 6 * 16);
}

TEST_CASE("the loads of one step are one job, and all its requests wait for it", "[models]") {
  // Prompts of 128 and 64 tokens, stored, pushed out of a pool of 20 blocks, and asked for again at
  // one instant: 7 + 3 blocks travel together, and both requests run when the last has arrived.
  Setup setup = simple(20, 100);
  const Workload workload = workload_of({{0, 128, 2, {1, 2}},
                                         {50, 64, 2, {3}},
                                         {100, 256, 1, {4, 5, 6, 7}},
                                         {200, 256, 1, {8, 9, 10, 11}},
                                         {300, 128, 1, {1, 2}},
                                         {300, 64, 1, {3}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.offload.load_jobs == 1);
  CHECK(run.offload.hits == 10);
  for (const std::size_t i : {4U, 5U}) {
    CHECK(ns(run.journal.requests[i].scheduled) == 300'000'000 + copy_ns(10, 25));
  }
}

TEST_CASE("there is no convoy: two requests load the same blocks at once", "[models]") {
  // As above with one prompt twice. Neither waits for the other; its 7 blocks come up two times.
  Setup setup = simple(20, 100);
  const Workload workload = workload_of({{0, 128, 2, {1, 2}},
                                         {100, 256, 1, {3, 4, 5, 6}},
                                         {200, 256, 1, {7, 8, 9, 10}},
                                         {300, 128, 1, {1, 2}},
                                         {300, 128, 1, {1, 2}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.offload.hits == 14);
  CHECK(moved(run, 1) == 14 * kBlock);
}

TEST_CASE("a full CPU pool keeps what fits and takes the rest when it can", "[models]") {
  // 8 usable blocks and a prompt of 12. The second step plans 8 of them; the third to fifth find
  // all eight still being written (10 us + 16 MiB over 1 GB/s = 16.8 ms against steps of 2 ms).
  // The ninth block is then stored over the first.
  Setup setup = simple(100, 8);
  setup.bytes_per_second = 1'000'000'000;
  const EngineRun brief = run_engine(workload_of({{0, 192, 5, {1, 2, 3}}}, kTraceBlock), setup);
  CHECK(brief.offload.store_jobs == 1);
  CHECK(brief.offload.store_failures == 4);  // in each of steps 2 to 5
  CHECK(stored(brief) == 8);
  const EngineRun longer = run_engine(workload_of({{0, 192, 15, {1, 2, 3}}}, kTraceBlock), setup);
  CHECK(longer.offload.store_jobs == 2);
  CHECK(stored(longer) == 12);
  CHECK(longer.journal.tier_changes.back().resident == 8);
}

TEST_CASE("a waiting head keeps what it found below", "[models]") {
  // The CPU pool has 8 blocks and holds request 0's. Request 1 (28 of 30 blocks, many answers)
  // fills HBM; request 2 repeats request 0, finds 7 blocks below and cannot be admitted. Request
  // 1's own blocks find one place below meanwhile: the seven are pinned. Request 2 loads them.
  Setup setup = simple(30, 8);
  const Workload workload =
      workload_of({{0, 128, 2, {1, 2}}, {50, 448, 20, {3, 4, 5, 6, 7, 8, 9}}, {60, 128, 1, {1, 2}}},
                  kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  CHECK(run.journal.requests[2].scheduled > run.journal.requests[1].finish);
  CHECK(run.journal.requests[2].cached_tokens[1] == 7 * 16);
  CHECK(run.offload.store_failures > 0);
}

TEST_CASE("a step that preempts waits for every transfer under way", "[models]") {
  // Two requests of 64 tokens grow in a pool of 12 blocks until both need a seventh: 96 tokens are
  // computed in 1 + 32 steps, and step 34 preempts the second. Until then two jobs were submitted,
  // the prompts' 8 blocks and the 2 of tokens 65 to 80: 210 ms at 0.1 GB/s, steps take about 2 ms.
  // The step waits for both, though none of its own blocks is among them.
  Setup setup = simple(12, 100);
  setup.bytes_per_second = 100'000'000;
  const Workload workload = workload_of({{0, 64, 40, {1}}, {0, 64, 40, {2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  REQUIRE(run.journal.preempted.size() == 1);
  REQUIRE(run.journal.steps.size() > 34);
  const StepRecord& step = run.journal.steps[33];
  CHECK(run.offload.flushes == 1);
  CHECK(step.stall == run.journal.transfers[1].ended - step.start);
  CHECK(run.flush_stall == step.stall);
}

TEST_CASE("lazy: nothing is copied before the walk reaches cached blocks", "[models]") {
  // 100 free blocks, and a walk over 2 x 64 / 16 = 8 a step. Request 0 runs for two steps and
  // leaves its 4 blocks at the queue's end, behind slots 6 to 100, with the walk at slot 20. Ten
  // steps later it stands on slot 100; the one after copies all four.
  Setup setup = simple(100, 100, true);
  setup.config.max_num_batched_tokens = 64;
  const auto outputs = [&](std::uint32_t tokens) {
    return run_engine(workload_of({{0, 64, 2, {1}}, {100, 16, tokens, {2}}}, kTraceBlock), setup);
  };
  const EngineRun ten = outputs(10);
  CHECK(ten.journal.steps.size() == 12);
  CHECK(ten.offload.store_jobs == 0);
  const EngineRun eleven = outputs(11);
  CHECK(eleven.offload.store_jobs == 1);
  CHECK(stored(eleven) == 4);
  CHECK(moved(eleven, 0) == 4 * kBlock);
}

TEST_CASE("lazy: once at the queue's end, the walk copies what is released", "[models]") {
  // A pool of 20 blocks and a walk of 256 a step: it stands at the end from the first step on.
  // Request 0's blocks are free when request 1's first step is planned, which copies them, far from
  // being evicted: request 1 takes 4 of 12 free blocks. Three more requests push them out.
  Setup setup = simple(20, 100, true);
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                         {50, 64, 1, {3}},
                                         {100, 256, 1, {4, 5, 6, 7}},
                                         {200, 256, 1, {8, 9, 10, 11}},
                                         {300, 128, 1, {1, 2}}},
                                        kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  REQUIRE(!run.journal.transfers.empty());
  CHECK(run.journal.transfers[0].payload.count() == 8 * kBlock);
  CHECK(ns(run.journal.transfers[0].submitted) == 50'000'000 + step_ns(64, 64));
  // One-token answers are stored here, unlike eagerly, and so found again.
  CHECK(run.journal.requests[4].cached_tokens[1] == 7 * 16);
}

TEST_CASE("lazy: what is in the CPU pool is not copied again", "[models]") {
  // Two prompts of floor(120 / 16) = 7 full blocks in turn, in HBM all the time. Each is free while
  // the other runs: it is copied the first time.
  Setup setup = simple(20, 100, true);
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 10; ++i) {
    const std::uint64_t document = i % 2 == 0 ? 10 : 20;
    rows.push_back({50 * i, 120, 1, {document, document + 1}});
  }
  const EngineRun run = run_engine(workload_of(rows, kTraceBlock), setup);
  CHECK(stored(run) == 14);
}

/// Two prompts of 8 blocks fit each pool; three take turns.
Workload three_in_turn() {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const std::uint64_t document = 10 * (i % 3);
    rows.push_back({static_cast<std::int64_t>(100 * i), 128, 2, {document, document + 1}});
  }
  return workload_of(rows, kTraceBlock);
}

TEST_CASE("an eager CPU tier no larger than HBM adds nothing, for it mirrors HBM", "[models]") {
  // Three prompts in turn through pools that hold two (PR #43946): when the first comes again, both
  // pools have kept the other two. So it is with either connector.
  Setup native;
  native.config.num_gpu_blocks = 18 + 1;
  native.dram_blocks = 16;
  CHECK(run_engine(three_in_turn(), native).offload.hits == 0);
  const EngineRun run = run_engine(three_in_turn(), simple(18, 16));
  CHECK(run.offload.hits == 0);
  CHECK(stored(run) == 12 * 8);
}

TEST_CASE("lazy copies part the two pools: the same tier adds hits", "[models]") {
  // The same three prompts. The first is copied while the second runs, and goes behind it in HBM's
  // queue as the copy ends (PR #40332 would put it first). The third therefore pushes out the
  // second, of which the tier has nothing yet, and the first is found in HBM when it returns.
  const EngineRun run = run_engine(three_in_turn(), simple(18, 16, true));
  CHECK(run.journal.requests[3].cached_tokens[0] == 7 * 16);
  CHECK(run.offload.hits > 0);
  CHECK(stored(run) < 12 * 8);
}

TEST_CASE("a CPU tier with room for what HBM cannot hold adds it", "[models]") {
  // 24 blocks below hold all three prompts. Eagerly, from the fourth request on, the 7 blocks that
  // may hit are found in HBM or loaded. Lazily those are missed that left HBM before the walk came.
  Setup native;
  native.config.num_gpu_blocks = 18 + 1;
  native.dram_blocks = 24;
  CHECK(run_engine(three_in_turn(), native).offload.hits > 0);
  const EngineRun eager = run_engine(three_in_turn(), simple(18, 24));
  CHECK(eager.prefix.hits + eager.offload.hits == 9 * 7);
  CHECK(stored(eager) == 24);
  const EngineRun lazy = run_engine(three_in_turn(), simple(18, 24, true));
  CHECK(lazy.prefix.hits + lazy.offload.hits <= 9 * 7);
  CHECK(lazy.offload.hits > 0);
  CHECK(stored(lazy) == 24);
}

/// 300 prompts over a few documents with answers long enough to preempt in a small pool.
Workload crowded(std::uint64_t seed) {
  Stream random(seed, "simple connector");
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 300; ++i) {
    const std::uint64_t document = random.below(12);
    Row row{4 * i, 0, static_cast<std::uint32_t>(1 + random.below(60)), {}};
    const std::uint64_t blocks = 1 + random.below(4);
    for (std::uint64_t k = 0; k < blocks; ++k) row.blocks.push_back(100 * document + k);
    row.input_tokens = static_cast<std::uint32_t>(64 * blocks - random.below(40));
    rows.push_back(row);
  }
  return workload_of(rows, kTraceBlock);
}

TEST_CASE("crowded runs drain: every copy is counted, every block returned", "[models]") {
  // The engine checks at its end that no block is in use or pinned and no job left. What the link
  // moved down is what the pool below took in; what it moved up are hits.
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Workload workload = crowded(seed);
    for (const bool lazy : {false, true}) {
      for (const bool ahead : {false, true}) {
        for (const std::uint64_t dram : {1U, 7U, 60U, 400U}) {
          INFO("seed " << seed << " lazy " << lazy << " ahead " << ahead << " dram " << dram);
          Setup setup = simple(60, dram, lazy);
          setup.config.async_scheduling = ahead;
          setup.config.max_num_batched_tokens = 128;
          setup.bytes_per_second = 2'000'000'000;
          const EngineRun run = run_engine(workload, setup);
          CHECK(run.stuck == 0);
          CHECK(moved(run, 0) == static_cast<std::int64_t>(stored(run)) * kBlock);
          CHECK(moved(run, 1) ==
                static_cast<std::int64_t>(run.offload.hits + run.offload.hits_resumed) * kBlock);
          CHECK(run.offload.flushes <= run.journal.preempted.size());
        }
      }
    }
  }
}

TEST_CASE("eager and lazy on one workload", "[models]") {
  // Figures to read (-s): which of them moves more depends on the workload.
  for (const std::uint64_t dram : {30U, 60U, 240U}) {
    for (const bool lazy : {false, true}) {
      Setup setup = simple(60, dram, lazy);
      setup.config.max_num_batched_tokens = 128;
      const EngineRun run = run_engine(crowded(7), setup);
      INFO((lazy ? "lazy" : "eager")
           << ", " << dram << " blocks below: " << stored(run) << " blocks down, "
           << run.offload.hits + run.offload.hits_resumed << " up, " << run.prefix.hits
           << " hits in HBM, " << run.journal.preempted.size() << " preemptions, "
           << run.offload.flushes << " flushes, ends at " << ns(run.end) / 1'000'000 << " ms");
      CHECK(run.stuck == 0);
    }
  }
}

}  // namespace
}  // namespace spillway::test
