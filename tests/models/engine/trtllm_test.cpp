// TensorRT-LLM with its clock: what a finished request leaves, who is evicted, what host memory
// gives up with it, and who is paused.
//
// Blocks of 16 tokens and 2 MiB; a copy of one takes 10 us + bytes / 25 GB/s. In most histories a
// request of 64 tokens (four blocks) leaves them in a pool of five; one of 48 then takes three; and
// the first prompt comes again.
#include "tests/support/engine_run.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kCopy = 10'000 + (2'097'152 + 24) / 25;  // 93,887 ns
constexpr std::int64_t kMs = 1'000'000;

Setup trtllm_setup(std::uint32_t gpu_blocks, std::uint32_t host_blocks) {
  Setup setup;
  setup.config.family = EngineFamily::kTrtllm;
  setup.config.num_gpu_blocks = gpu_blocks;
  setup.config.max_num_batched_tokens = 8192;
  setup.config.chunked_prefill = false;
  setup.config.load = LoadSemantics::kBarrier;
  setup.dram_blocks = host_blocks;
  return setup;
}

Workload again() {
  return workload_of({{0, 64, 1, {1}}, {100, 48, 1, {2}}, {200, 64, 1, {1}}}, 64);
}

const RequestRecord& request(const EngineRun& run, std::size_t number) {
  return run.journal.requests[number];
}

TEST_CASE("of a finished request the last blocks go first", "[models]") {
  const EngineRun run = run_engine(again(), trtllm_setup(5, 0));
  // The second takes the block that was never used, and the first one's last two.
  CHECK(request(run, 2).cached_tokens[0] == 32);
  CHECK(nanoseconds_of(request(run, 2).first_token) == 200 * kMs + step_ns(32, 64));
}

TEST_CASE("evicted blocks change places with host memory, and come back the same way", "[models]") {
  const EngineRun run = run_engine(again(), trtllm_setup(5, 10));
  // Two of the first prompt's blocks went down. All but its last token is found: 32 tokens on the
  // GPU, a block below, and 15 tokens of the last one, which nobody uses and is written on.
  CHECK(request(run, 2).cached_tokens[0] == 32);
  CHECK(request(run, 2).cached_tokens[1] == 31);
  // Each of the two that come up needs a place that another leaves: down, then up, one behind the
  // other in each direction. The forward of one token waits for all.
  CHECK(run.offload.store_jobs == 2 + 2);
  CHECK(run.offload.load_jobs == 2);
  const std::int64_t second = 100 * kMs + 2 * kCopy + step_ns(48, 48);
  CHECK(nanoseconds_of(request(run, 1).first_token) == second);
  const std::int64_t third = 200 * kMs + 3 * kCopy + step_ns(1, 64);
  CHECK(nanoseconds_of(request(run, 2).first_token) == third);
}

TEST_CASE("what stands behind a block that host memory gives up is lost with it", "[models]") {
  // The first block of each prompt is worth less than the others and goes down first, while they
  // stay on the GPU. The next that goes down takes its place, if there is no other.
  const auto found = [](std::uint32_t host_blocks) {
    Setup setup = trtllm_setup(5, host_blocks);
    RetentionRange first{0, 16, {40, std::nullopt}};
    RetentionRange others{16, ~std::uint32_t{0}, {50, std::nullopt}};
    setup.config.trtllm.retention.prompt = {first, others};
    return request(run_engine(again(), setup), 2).cached_tokens;
  };
  CHECK(found(2)[0] == 32);
  CHECK(found(2)[1] == 16 + 15);
  CHECK(found(1)[0] == 0);
  CHECK(found(1)[1] == 0);
}

TEST_CASE("the request that began last is paused, and finds what it had computed", "[models]") {
  Setup setup = trtllm_setup(5, 0);
  setup.config.trtllm.capacity = CapacityPolicy::kMaxUtilization;
  const EngineRun run = run_engine(workload_of({{0, 32, 20, {1}}, {0, 32, 20, {2}}}, 64), setup);
  // Both prompts take two blocks, both second tokens want a third, and one is left: the second
  // request is paused, and waits until the first has ended, which takes one of its blocks.
  CHECK(request(run, 0).preemptions == 0);
  CHECK(request(run, 1).preemptions == 1);
  std::int64_t at = step_ns(64, 64);
  CHECK(nanoseconds_of(request(run, 1).first_token) == at);
  for (std::int64_t known = 33; known < 52; ++known) at += step_ns(1, known);
  CHECK(nanoseconds_of(request(run, 0).finish) == at);
  at += step_ns(17, 33);  // its prompt's second block, and the token that it had generated
  for (std::int64_t known = 34; known < 52; ++known) at += step_ns(1, known);
  CHECK(nanoseconds_of(request(run, 1).finish) == at);
}

TEST_CASE("who would compute the same waits for it", "[models]") {
  const EngineRun run =
      run_engine(workload_of({{0, 64, 1, {1}}, {0, 64, 1, {1}}}, 64), trtllm_setup(20, 0));
  CHECK(nanoseconds_of(request(run, 1).scheduled) == step_ns(64, 64));
  CHECK(request(run, 1).cached_tokens[0] == 63);
  CHECK(nanoseconds_of(request(run, 1).first_token) == step_ns(64, 64) + step_ns(1, 64));
}

}  // namespace
}  // namespace spillway::test
