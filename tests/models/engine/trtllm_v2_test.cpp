// TensorRT-LLM with the KV cache manager V2: who is suspended, what that saves, and who has to wait
// for room. Disks are in the histories of tests/oracle/cases/trtllm-v2-*.
//
// Blocks of 16 tokens and 2 MiB; a copy of one takes 10 us + bytes / 25 GB/s.
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kCopy = 10'000 + (2'097'152 + 24) / 25;  // 93,887 ns

Setup v2_setup(std::uint32_t gpu_blocks, std::uint32_t host_blocks) {
  Setup setup;
  setup.config.family = EngineFamily::kTrtllm;
  setup.config.trtllm.manager = TrtllmManager::kV2;
  setup.config.num_gpu_blocks = gpu_blocks;
  setup.config.max_num_batched_tokens = 8192;
  setup.config.chunked_prefill = false;
  setup.config.load = LoadSemantics::kBarrier;
  setup.dram_blocks = host_blocks;
  return setup;
}

const RequestRecord& request(const EngineRun& run, std::size_t number) {
  return run.journal.requests[number];
}

TEST_CASE("a suspended request goes on where it was", "[models]") {
  const EngineRun run =
      run_engine(workload_of({{0, 32, 20, {1}}, {0, 32, 20, {2}}}, 64), v2_setup(5, 10));
  // Both prompts take two blocks, and both second tokens want a third. The first request has it;
  // the second is suspended, and its blocks stay where they are. With 49 tokens the first wants a
  // fourth: the second's first block goes down.
  std::int64_t at = step_ns(64, 64);
  CHECK(nanoseconds_of(request(run, 1).first_token) == at);
  for (std::int64_t known = 33; known < 52; ++known) {
    at += step_ns(1, known) + (known == 49 ? kCopy : 0);
  }
  CHECK(nanoseconds_of(request(run, 0).finish) == at);
  // Now that comes up again, into one of two blocks that nobody can use any longer, and the other
  // one is its third. Nothing is computed twice. The fourth is one of the first prompt's.
  at += kCopy;
  for (std::int64_t known = 33; known < 52; ++known) {
    at += step_ns(1, known) + (known == 49 ? kCopy : 0);
  }
  CHECK(nanoseconds_of(request(run, 1).finish) == at);
  CHECK(request(run, 0).preemptions == 0);
  CHECK(request(run, 1).preemptions == 1);
  CHECK(run.offload.store_jobs == 2);
  CHECK(run.offload.load_jobs == 1);
}

TEST_CASE("nobody begins while too much of the pool is locked", "[models]") {
  Setup setup = v2_setup(12, 12);
  const Workload workload = workload_of({{0, 96, 2, {1, 2}}, {0, 16, 1, {3}}}, 64);
  // The first has 6 of 12 blocks: half, and half may be.
  setup.config.trtllm.resume_ppm = 500'000;
  CHECK(nanoseconds_of(request(run_engine(workload, setup), 1).scheduled) == 0);
  // A little less, and the second waits until the first has ended.
  setup.config.trtllm.resume_ppm = 499'999;
  CHECK(nanoseconds_of(request(run_engine(workload, setup), 1).scheduled) ==
        step_ns(96, 96) + step_ns(1, 97));
}

TEST_CASE("without room below, the last of the suspended begins again", "[models]") {
  const EngineRun run =
      run_engine(workload_of({{0, 32, 20, {1}}, {0, 32, 20, {2}}}, 64), v2_setup(4, 1));
  // Four blocks are taken, and each second token wants another. The second request is suspended,
  // and gives a block: there is one slot below. With 49 tokens the first request wants a fourth
  // block, nobody else runs, and that slot is taken: the second gives up what it had.
  CHECK(request(run, 0).preemptions == 0);
  CHECK(request(run, 1).preemptions == 2);
  std::int64_t at = step_ns(64, 64);
  for (std::int64_t known = 33; known < 52; ++known) {
    at += step_ns(1, known) + (known == 33 ? kCopy : 0);
  }
  CHECK(nanoseconds_of(request(run, 0).finish) == at);
  // It computes its 33 tokens again: two slots are empty, and for a third the first prompt's last
  // block goes down. So does its first one for the fourth.
  at += kCopy + step_ns(33, 33);
  for (std::int64_t known = 34; known < 52; ++known) {
    at += step_ns(1, known) + (known == 49 ? kCopy : 0);
  }
  CHECK(nanoseconds_of(request(run, 1).finish) == at);
}

TEST_CASE("a part of a block is copied, and stays for the next", "[models]") {
  const EngineRun run = run_engine(
      workload_of({{0, 24, 1, {1}}, {100, 40, 1, {1}}, {200, 40, 1, {1}}}, 64), v2_setup(20, 10));
  // A prompt leaves its last block too, with 8 tokens.
  CHECK(request(run, 1).cached_tokens[0] == 24);
  CHECK(nanoseconds_of(request(run, 1).first_token) == 100'000'000 + step_ns(16, 40));
  // All but the last token, of the second's blocks.
  CHECK(request(run, 2).cached_tokens[0] == 39);
}

}  // namespace
}  // namespace spillway::test
