// Claim 15 of the mission: with offload, one over-committed system preempted eleven times as often
// while reuse rose. The mechanism: a request whose prefix is being loaded takes no slot among the
// running ones, yet holds its blocks, so that more requests hold blocks at once than run.
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16

/// Requests 0 to 3 leave prompts of 4 blocks each, which request 4 pushes out of HBM. Then request
/// 5 decodes (4 blocks, 11 in the end), and 6 to 9 repeat 0 to 3. Two may run at once.
struct History {
  Setup setup;
  Workload workload = workload_of({{0, 64, 1, {1}},
                                   {500, 64, 1, {2}},
                                   {1000, 64, 1, {3}},
                                   {1500, 64, 1, {4}},
                                   {2000, 320, 1, {11, 12, 13, 14, 15}},
                                   {5000, 64, 100, {20}, "chat"},
                                   {5010, 64, 1, {1}},
                                   {5010, 64, 1, {2}},
                                   {5010, 64, 1, {3}},
                                   {5010, 64, 1, {4}}},
                                  kTraceBlock);

  History() {
    setup.config.num_gpu_blocks = 21;
    setup.config.max_num_seqs = 2;
    setup.bytes_per_second = 100'000'000;  // 84 ms for a load of 4 blocks
  }
};

std::uint32_t reused(const EngineRun& run) {
  std::uint32_t sum = 0;
  for (const RequestRecord& r : run.journal.requests) {
    sum += r.cached_tokens[0] + r.cached_tokens[1];
  }
  return sum;
}

TEST_CASE("claim 15: loads without a slot hold the blocks a running request needs", "[models]") {
  // Without offload one of 6 to 9 runs beside 5 at a time: at most 11 + 4 of 20 blocks, and nobody
  // is preempted. With offload all four start to load at once: 5 + 4 x 4 = 21 blocks are wanted
  // when request 5 takes its fifth, and it, the only one that runs, gives way.
  History h;
  const EngineRun alone = run_engine(h.workload, h.setup);
  CHECK(alone.journal.preempted.empty());
  h.setup.dram_blocks = 200;
  const EngineRun offload = run_engine(h.workload, h.setup);
  REQUIRE_FALSE(offload.journal.preempted.empty());
  CHECK(raw(offload.journal.preempted[0]) == 5);
  CHECK(reused(offload) > reused(alone));
  CHECK(offload.journal.requests[5].finish > alone.journal.requests[5].finish);
}

TEST_CASE("claim 15: the load reservation does not count what a decode will need", "[models]") {
  // It keeps room for prefills and loads under way, not for the growth of running requests: on or
  // off, the preemption is there.
  for (const bool reservation : {true, false}) {
    History h;
    h.setup.dram_blocks = 200;
    h.setup.config.async_load_reservation = reservation;
    CHECK_FALSE(run_engine(h.workload, h.setup).journal.preempted.empty());
  }
}

TEST_CASE("claim 15: with room for every load, offload preempts nobody", "[models]") {
  // 11 + 4 x 4 = 27 blocks: 27 usable are enough.
  History h;
  h.setup.config.num_gpu_blocks = 28;
  // The filler has to push the prompts out of a larger pool.
  h.workload = workload_of({{0, 64, 1, {1}},
                            {500, 64, 1, {2}},
                            {1000, 64, 1, {3}},
                            {1500, 64, 1, {4}},
                            {2000, 432, 1, {11, 12, 13, 14, 15, 16, 17}},
                            {8000, 64, 100, {20}},
                            {8010, 64, 1, {1}},
                            {8010, 64, 1, {2}},
                            {8010, 64, 1, {3}},
                            {8010, 64, 1, {4}}},
                           kTraceBlock);
  h.setup.dram_blocks = 200;
  const EngineRun run = run_engine(h.workload, h.setup);
  CHECK(run.journal.preempted.empty());
  CHECK(run.offload.load_jobs == 4);
}

TEST_CASE("claim 15: loads that hold the step back take slots, and preempt nobody", "[models]") {
  // In-process LMCache loads before the forward: such a request runs in that very step, so the two
  // slots bound who holds blocks.
  History h;
  h.setup.dram_blocks = 200;
  h.setup.config.load = LoadSemantics::kBlocking;
  const EngineRun run = run_engine(h.workload, h.setup);
  CHECK(run.journal.preempted.empty());
  CHECK(run.offload.load_jobs == 4);
}

TEST_CASE("claim 15: a full machine starts no load", "[models]") {
  // One slot, which request 5 has: the waiting ones are not looked at, so offload holds nothing.
  History h;
  h.setup.dram_blocks = 200;
  h.setup.config.max_num_seqs = 1;
  CHECK(run_engine(h.workload, h.setup).journal.preempted.empty());
}

TEST_CASE("claim 15: without offload for the repeated prompts, as without a tier", "[models]") {
  History h;
  h.setup.dram_blocks = 200;
  h.setup.classes = {{0, false, 0}, {}};
  const EngineRun run = run_engine(h.workload, h.setup);
  CHECK(run.journal.preempted.empty());
  CHECK(run.offload.load_jobs == 0);
}

}  // namespace
}  // namespace spillway::test
