// Who passes whom while a prefix is loaded from below HBM: vllm/v1/core/sched/scheduler.py sets the
// loading request aside (WAITING_FOR_REMOTE_KVS) and goes on with those behind it, until one of
// them cannot have its blocks.
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLoad = 8'398'608;  // 16 MiB over 2 GB/s

/// 20 blocks in HBM. By 400 ms the 8 blocks of {1, 2} lie below only: later prompts took their
/// place.
Setup small_pool() {
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.dram_blocks = 100;
  setup.bytes_per_second = 2'000'000'000;
  return setup;
}

EngineRun run_with(const std::vector<Row>& late) {
  std::vector<Row> rows = {{0, 128, 1, {1, 2}},
                           {100, 128, 1, {3, 4}},
                           {200, 256, 1, {5, 6, 7, 8}},
                           {300, 256, 1, {9, 10, 11, 12}}};
  rows.insert(rows.end(), late.begin(), late.end());
  return run_engine(workload_of(rows, 64), small_pool());
}

std::int64_t first_token_after_400(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].first_token) - 400 * kMs;
}

TEST_CASE("a request that loads is passed by the one behind it", "[models]") {
  const EngineRun run = run_with({{400, 128, 1, {1, 2}}, {400, 64, 1, {20}}});
  CHECK(first_token_after_400(run, 5) == 3'280'320);  // its prefill of 64 tokens, at once
  CHECK(first_token_after_400(run, 4) > kLoad);
}

TEST_CASE("a request that loads holds its blocks: who needs them waits, and all behind him",
          "[models]") {
  // Of 20 blocks the load holds 8. 256 tokens need 16, more than the 12 left: the walk ends there,
  // so that the 4 blocks of request 6 are not tried either, though they would fit.
  const EngineRun run =
      run_with({{400, 128, 1, {1, 2}}, {400, 256, 1, {30, 31, 32, 33}}, {400, 64, 1, {40}}});
  const std::int64_t loaded = first_token_after_400(run, 4);
  CHECK(loaded > kLoad);
  CHECK(first_token_after_400(run, 5) > loaded);
  CHECK(first_token_after_400(run, 6) > loaded);
}

TEST_CASE("requests that pass take cached blocks, never those of the load", "[models]") {
  // The one that passes needs 12 blocks: all that are not held. What it evicts are blocks of
  // requests that have ended; the load goes on, and brings all 128 tokens.
  const EngineRun run = run_with({{400, 128, 1, {1, 2}}, {400, 192, 1, {50, 51, 52}}});
  CHECK(run.journal.preempted.empty());
  CHECK(run.journal.requests[4].cached_tokens[1] == 128);
  CHECK(first_token_after_400(run, 5) < first_token_after_400(run, 4));
}

}  // namespace
}  // namespace spillway::test
