// vLLM v0 with its clock: what swapping costs, what it holds up, and how it ends.
//
// Blocks of 16 tokens and 2 MiB; copies take 10 us + bytes / 25 GB/s. Two requests of 48 tokens
// (three full blocks) and 6 of answer share 8 blocks, of which one is the watermark. Both take a
// fourth block for their second token. Then 0 wants a free one, as v0 always does, and 1 leaves
// with its 4; it needs 4 and the watermark to come back, so it waits until 0 has ended. A third
// request of one block arrives at 7 ms.
#include <algorithm>

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kFourBlocks = 10'000 + (4 * 2'097'152 + 24) / 25;  // 345,545 ns

Setup v0_setup(std::uint32_t gpu_blocks, std::uint32_t cpu_blocks, bool chunked = false) {
  Setup setup;
  setup.config.family = EngineFamily::kVllmV0;
  setup.config.num_gpu_blocks = gpu_blocks;
  setup.config.watermark = 0.01;
  setup.config.enable_prefix_caching = false;
  setup.config.chunked_prefill = chunked;
  setup.config.swap = {cpu_blocks, cpu_blocks > 0};
  setup.config.copies_per_block = 64;
  return setup;
}

Setup history_setup(std::uint32_t cpu_blocks) {
  Setup setup = v0_setup(8, cpu_blocks);
  setup.config.watermark = 0.125;
  return setup;
}

Workload history() {
  return workload_of({{0, 48, 6, {1}}, {0, 48, 6, {2}}, {7, 16, 1, {3}}}, 64);
}

std::int64_t first_token(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].first_token);
}
std::int64_t finish(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].finish);
}

// The end of both prompts, of the second token, and of 0's six.
constexpr std::int64_t kPrompts = step_ns(96, 96);
constexpr std::int64_t kSecond = kPrompts + step_ns(2, 98);

TEST_CASE("a swap makes its step longer by its copies, to the nanosecond", "[models]") {
  const EngineRun run = run_engine(history(), history_setup(100));
  CHECK(first_token(run, 0) == kPrompts);
  CHECK(first_token(run, 1) == kPrompts);
  const std::int64_t third = kSecond + kFourBlocks + step_ns(1, 50);
  const std::int64_t sixth = third + step_ns(1, 51) + step_ns(1, 52) + step_ns(1, 53);
  CHECK(finish(run, 0) == sixth);
  // 1 comes back with its own step; only then does 2's prompt start, alone in its step.
  const std::int64_t back = sixth + kFourBlocks + step_ns(1, 50);
  CHECK(nanoseconds_of(run.journal.requests[2].scheduled) == back);
  CHECK(finish(run, 2) == back + step_ns(16, 16));
  CHECK(finish(run, 1) == finish(run, 2) + step_ns(1, 51) + step_ns(1, 52) + step_ns(1, 53));

  REQUIRE(run.journal.transfers.size() == 2);
  const TransferRecord& out = run.journal.transfers[0];
  CHECK(out.link == 0);
  CHECK(out.payload == Bytes(4 * 2'097'152));
  CHECK(out.copies == 4 * 64);
  CHECK(nanoseconds_of(out.started) == kSecond);
  CHECK(nanoseconds_of(out.ended) == kSecond + kFourBlocks);
  CHECK(run.journal.transfers[1].link == 1);
  CHECK(nanoseconds_of(run.journal.transfers[1].started) == sixth);
  CHECK(run.swap->stall == Duration(2 * kFourBlocks));
  CHECK(run.journal.preempted == std::vector<RequestId>{RequestId{1}});
  CHECK(run.swap->requests_out == 1);
  CHECK(run.swap->requests_in == 1);
  CHECK(run.swap->peak_requests == 1);
  CHECK(run.swap->peak_blocks == 4);
}

TEST_CASE("the same history, computed again instead", "[models]") {
  const EngineRun run = run_engine(history(), history_setup(0));
  const std::int64_t sixth =
      kSecond + step_ns(1, 50) + step_ns(1, 51) + step_ns(1, 52) + step_ns(1, 53);
  CHECK(finish(run, 0) == sixth);
  // 1 stands before 2; both prompts start together, 50 tokens and 16.
  CHECK(finish(run, 2) == sixth + step_ns(66, 66));
  CHECK(finish(run, 1) == finish(run, 2) + step_ns(1, 51) + step_ns(1, 52) + step_ns(1, 53));
  std::uint32_t again = 0;
  for (const StepRecord& step : run.journal.steps) again += step.recomputed_tokens;
  CHECK(again == 49);
  CHECK(run.journal.transfers.empty());
}

TEST_CASE("an engine without room to swap dies, and everybody with it", "[models]") {
  const EngineRun run = run_engine(history(), history_setup(3));
  REQUIRE(run.swap->fatal);
  CHECK(run.swap->fatal->needed == 4);
  CHECK(run.stuck == 0);
  for (const RequestRecord& r : run.journal.requests) {
    CHECK(r.status == RequestStatus::kFailed);
    CHECK(r.reason == Reason::kEngineDead);
  }
  CHECK(first_token(run, 1) == kPrompts);  // it had begun to answer
  CHECK(run.journal.requests[2].arrival == Time(std::chrono::milliseconds(7)));
  CHECK(run.journal.transfers.empty());
  CHECK(run.journal.tier_changes.back().used == 0);
}

// A request of 4 blocks alone on 4 holds all of them with room in the last: it swaps itself out. In
// a step that only copies nothing is computed; the next one brings it back and goes on.
TEST_CASE("alone in too small a pool, a request takes turns with itself", "[models]") {
  Setup setup = v0_setup(4, 100);
  setup.config.watermark = 0;
  const EngineRun run = run_engine(workload_of({{0, 60, 3, {1}}}, 64), setup);
  const std::int64_t turn = 2 * kFourBlocks;
  CHECK(finish(run, 0) == step_ns(60, 60) + turn + step_ns(1, 61) + turn + step_ns(1, 62));
  CHECK(run.journal.steps.size() == 3);
  CHECK(run.swap->requests_out == 2);
}

// With a watermark it never comes back: v0 hangs, and so does everybody behind.
TEST_CASE("a request that grew into the watermark blocks the engine for good", "[models]") {
  Setup setup = v0_setup(4, 100);
  setup.config.watermark = 0.25;
  const EngineRun run = run_engine(workload_of({{0, 48, 30, {1}}, {50, 16, 1, {2}}}, 64), setup);
  CHECK(run.stuck == 2);
  CHECK(run.journal.requests[0].reason == Reason::kDeadlock);
}

TEST_CASE("a request that outgrows the pool fails in the middle of its answer", "[models]") {
  Setup setup = v0_setup(4, 0);
  setup.config.watermark = 0.25;
  const EngineRun run = run_engine(workload_of({{0, 48, 30, {1}}, {50, 16, 1, {2}}}, 64), setup);
  CHECK(run.stuck == 0);
  CHECK(run.journal.requests[0].status == RequestStatus::kFailed);
  CHECK(run.journal.requests[0].reason == Reason::kExceedsPool);
  CHECK(run.journal.requests[0].first_token != kNever);
  CHECK(run.journal.requests[1].status == RequestStatus::kCompleted);
}

/// 60 requests of up to 20 blocks on pools of 22 to 60.
Workload random_history(Stream& rng) {
  std::vector<Row> rows;
  std::int64_t at = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    at += static_cast<std::int64_t>(rng.below(40));
    const auto prompt = static_cast<std::uint32_t>(1 + rng.below(200));
    const auto output = static_cast<std::uint32_t>(1 + rng.below(120));
    Row row{at, prompt, output, {}};
    for (std::uint32_t k = 0; k * 64 < prompt; ++k) row.blocks.push_back(1000 * i + k);
    rows.push_back(row);
  }
  return workload_of(rows, 64);
}

// Every sequence leaves a block and the watermark, so each can come back alone: nothing is stuck.
TEST_CASE("whatever swaps or computes again, all blocks return and all requests end", "[models]") {
  Stream rng(7, "v0-history");
  std::uint64_t preempted = 0;
  for (int i = 0; i < 40; ++i) {
    const bool swaps = i % 2 == 0;
    Setup setup =
        v0_setup(static_cast<std::uint32_t>(22 + rng.below(39)), swaps ? 2000 : 0, i % 4 < 2);
    setup.config.max_num_batched_tokens = setup.config.chunked_prefill ? 64 : 512;
    INFO("run " << i << ", " << setup.config.num_gpu_blocks << " blocks");
    const EngineRun run = run_engine(random_history(rng), setup);
    CHECK(run.stuck == 0);
    CHECK(run.journal.requests.size() == 60);
    CHECK(std::all_of(run.journal.requests.begin(), run.journal.requests.end(),
                      [](const auto& r) { return r.status == RequestStatus::kCompleted; }));
    preempted += run.journal.preempted.size();
    CHECK(run.swap->requests_out == (swaps ? run.journal.preempted.size() : 0));
    CHECK(run.swap->requests_out == run.swap->requests_in);
    CHECK(run.swap->blocks_out == run.swap->blocks_in);
    Duration copied{0};
    Bytes moved{0};
    for (const TransferRecord& t : run.journal.transfers) {
      copied += t.ended - t.started;
      moved = moved + t.payload;
    }
    CHECK(copied == run.swap->stall);
    CHECK(moved.count() ==
          static_cast<std::int64_t>(run.swap->blocks_out + run.swap->blocks_in) * 2'097'152);
    for (const TierChange& change : run.journal.tier_changes) {
      CHECK(change.used <= (change.tier == 0 ? setup.config.num_gpu_blocks : 2000));
    }
  }
  CHECK(preempted > 200);
}

}  // namespace
}  // namespace spillway::test
