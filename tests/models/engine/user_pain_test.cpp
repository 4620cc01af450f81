// What users of vLLM's offload report (its issue threads), as small histories: what goes down for
// nobody, what preempted requests get back, and what a tier costs that nobody needs.
#include "tests/support/engine_run.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

std::uint64_t stored_below(const EngineRun& run) {
  std::uint64_t blocks = 0;
  for (const TierChange& change : run.journal.tier_changes) {
    if (change.tier == 1) blocks += change.stored;
  }
  return blocks;
}

TEST_CASE("PR 43797: answers that nobody sends back go down unless prompts alone do", "[models]") {
  // One request of 64 tokens and an answer of 64: 4 blocks of prompt; with the answer 8, the last
  // of which holds a token whose KV was never computed.
  const Workload workload = workload_of({{0, 64, 64, {1}}}, 512);
  Setup setup;
  setup.dram_blocks = 100;
  setup.config.offload_prompt_only = true;
  CHECK(stored_below(run_engine(workload, setup)) == 4);
  setup.config.offload_prompt_only = false;
  CHECK(stored_below(run_engine(workload, setup)) == 8);
}

TEST_CASE("PRs 32398, 43839: where nothing repeats, offload serves those preempted", "[models]") {
  // Four prompts of 256 tokens that nobody repeats, answers of 400: 16 blocks each at first, 41 at
  // the end, in a pool of 80. What preempted requests lost to the others comes from below.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 4; ++i) rows.push_back({0, 256, 400, {i}});
  const Workload workload = workload_of(rows, 512);
  Setup setup;
  setup.config.num_gpu_blocks = 81;
  const EngineRun alone = run_engine(workload, setup);
  setup.dram_blocks = 1000;
  const EngineRun offloaded = run_engine(workload, setup);
  REQUIRE_FALSE(alone.journal.preempted.empty());
  CHECK(offloaded.offload.hits == 0);
  CHECK(offloaded.offload.hits_resumed > 0);
}

TEST_CASE("an idle tier is free while HBM holds everything", "[models]") {
  // Three prompts, one after the other, each twice, in a pool that holds them all: copies go down
  // beside the steps, nothing comes up, and no time moves by a nanosecond. (250 tokens: the last
  // block of an aligned prompt would be loaded instead of recomputed.)
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 6; ++i) rows.push_back({std::int64_t(i) * 100, 250, 8, {i % 3}});
  const Workload workload = workload_of(rows, 512);
  Setup setup;
  const EngineRun without = run_engine(workload, setup);
  setup.dram_blocks = 1000;
  const EngineRun with = run_engine(workload, setup);
  CHECK(stored_below(with) > 0);
  CHECK(with.offload.load_jobs == 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("request " << i);
    CHECK(with.journal.requests[i].finish == without.journal.requests[i].finish);
  }
}

}  // namespace
}  // namespace spillway::test
