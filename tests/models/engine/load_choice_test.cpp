// Loading against computing again, on the reference scenario's costs: a step of 2 ms + 20 us a
// token
// + 5 ns a token of context, blocks of 16 tokens and 2 MiB.
#include "models/engine/schedulers/load_choice.hpp"

#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16

struct Bench {
  EngineConfig config = Setup{}.config;
  std::unique_ptr<StepCost> cost =
      make_linear_cost({decimal_of(2000), decimal_of(20000), decimal_of(5)});
  std::unique_ptr<LinkModel> link;

  Bench(std::int64_t latency_us, std::int64_t bytes_per_second)
      : link(make_affine_link(std::chrono::microseconds(latency_us), bytes_per_second)) {}
  LoadEstimate estimate() { return {config, *cost, *link}; }
};

TEST_CASE("a prefill is estimated in the chunks it would run in", "[models]") {
  // 100 tokens behind 32, at most 64 a step: 64 on 96, 36 on 132.
  Bench bench(10, 25'000'000'000);
  bench.config.max_num_batched_tokens = 64;
  CHECK(bench.estimate().compute(32, 132).count() == step_ns(64, 96) + step_ns(36, 132));
  bench.config.long_prefill_token_threshold = 50;
  CHECK(bench.estimate().compute(32, 132).count() == step_ns(50, 82) + step_ns(50, 132));
}

TEST_CASE("the estimates of a request with and without its load", "[models]") {
  // 128 of 200 tokens lie below, behind 32 that HBM holds: 8 blocks.
  Bench bench(10, 25'000'000'000);
  const LoadEstimate::Prefix prefix{32, 8, 200};
  const std::int64_t load = 10'000 + (8 * 2'097'152 + 24) / 25;
  CHECK(bench.estimate().without_load(prefix).count() == step_ns(168, 200));
  CHECK(bench.estimate().with_load(prefix, Duration(777)).count() == 777 + load + step_ns(40, 200));
  // A prompt that lies below as a whole still computes one token.
  CHECK(bench.estimate().with_load({0, 8, 128}, Duration(0)).count() == load + step_ns(1, 128));
}

TEST_CASE("a load is estimated with the copies of all its blocks", "[models]") {
  // 8 blocks in 64 pieces each: 16 MiB at 10 bytes/ns, 1,677,721.6 ns, and 512 copies of 5 us.
  Bench bench(0, 1);
  RateTable table;
  table.per_copy = Duration(5000);
  table.copy_bytes = table.copies = {1};
  table.gbs = {10};
  bench.link = make_table_link(table);
  bench.config.copies_per_block = 64;
  CHECK(bench.estimate().load(8).count() == 1'677'722 + 512 * 5000);
  CHECK(bench.estimate().with_load({0, 8, 128}, Duration(0)).count() ==
        1'677'722 + 512 * 5000 + step_ns(1, 128));
  // In 4 layers a piece is 4 MiB in 128 copies: x = 419,431 + 640,000 ns, more than the c = 505,160
  // of a layer's part of the step: 4 x + c.
  bench.config.load = LoadSemantics::kLayerwise;
  bench.config.layers = 4;
  CHECK(bench.estimate().with_load({0, 8, 128}, Duration(0)).count() == 4 * 1'059'431 + 505'160);
}

TEST_CASE("a layer-wise load is estimated by its closed form", "[models]") {
  // 4 layers: x = 10,000 + 4 MiB / 25 = 177,773 ns; c = 2,020,640 / 4 = 505,160 ns; x + 4 c.
  Bench bench(10, 25'000'000'000);
  bench.config.load = LoadSemantics::kLayerwise;
  bench.config.layers = 4;
  CHECK(bench.estimate().with_load({0, 8, 128}, Duration(0)).count() == 177'773 + 2'020'640);
}

TEST_CASE("break-even on an affine link is where the lines cross", "[models]") {
  // P tokens below and one to compute. Loaded: L + P x 131,072 B / BW + 2 ms + 20 us + 5 (P + 1).
  // Computed: 2 ms + 20 us (P + 1) + 5 (P + 1). Loading wins from P (20,000 - 131,072 / BW) >= L
  // on. 25 GB/s: 5,242.88 ns a token. L = 1 ms: P >= 1,000,000 / 14,757.12 = 67.8: 5 blocks, 80
  // tokens.
  CHECK(Bench(1000, 25'000'000'000).estimate().break_even_tokens(10'000) == 80);
  // L = 10 us: the first block pays.
  CHECK(Bench(10, 25'000'000'000).estimate().break_even_tokens(10'000) == 16);
  // L = 20 ms: P >= 1,355.3: 85 blocks, 1,360 tokens (one step: the chunk is 2,048).
  CHECK(Bench(20'000, 25'000'000'000).estimate().break_even_tokens(10'000) == 1360);
  // Not within 1,000 tokens.
  CHECK_FALSE(Bench(20'000, 25'000'000'000).estimate().break_even_tokens(1000));
  // 5 GB/s: 26,214 ns a token, more than computing it, but for the steps it saves: with prompts in
  // steps of 64, each further 64 tokens cost 2 ms + 20 us x 64 = 3.28 ms against 1.678 ms loaded.
  Bench slow(1000, 5'000'000'000);
  CHECK_FALSE(slow.estimate().break_even_tokens(2000));
  slow.config.max_num_batched_tokens = 64;
  // P = 64 computes 65 tokens in two steps (64, then 1): 2 ms + 1.28 ms + 320 + 2 ms + 20 us + 325
  // against 1 ms + 1.678 ms + 2 ms + 20 us + 325: 5.30 against 4.70. P = 48: 2 ms + 0.98 ms + 245
  // against 1 ms + 1.258 ms + 2.02 ms + 245: one step, loading loses.
  CHECK(slow.estimate().break_even_tokens(2000) == 64);
}

/// Request 0's 128 tokens lie below and not in HBM when requests 5 and 6 repeat them in part.
Workload history() {
  return workload_of({{0, 128, 1, {1, 2}},
                      {100, 128, 1, {3, 4}},
                      {200, 256, 1, {5, 6, 7, 8}},
                      {300, 256, 1, {9, 10, 11, 12}},
                      {350, 64, 1, {13}},
                      {400, 128, 1, {1, 2}},
                      {400, 128, 1, {3, 4}}},
                     kTraceBlock);
}

Setup setup_of(std::int64_t bytes_per_second) {
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.dram_blocks = 100;
  setup.bytes_per_second = bytes_per_second;
  setup.load_at_break_even = true;
  return setup;
}

TEST_CASE("what loads sooner is loaded, what computes sooner is computed", "[models]") {
  // Computing 128 tokens: 2 ms + 2.56 ms + 640 ns. A load at 25 GB/s: 0.68 ms + 2.02 ms.
  const EngineRun fast = run_engine(history(), setup_of(25'000'000'000));
  CHECK(fast.load_decisions->loaded == 2);
  CHECK(fast.load_decisions->recomputed == 0);
  CHECK(fast.journal.requests[5].cached_tokens[1] == 128);
  // At 5 GB/s: 3.37 ms + 2.02 ms.
  const EngineRun slow = run_engine(history(), setup_of(5'000'000'000));
  CHECK(slow.load_decisions->loaded == 0);
  CHECK(slow.load_decisions->recomputed == 2);
  CHECK(slow.journal.requests[5].cached_tokens[1] == 0);
  CHECK(slow.offload.load_jobs == 0);
  CHECK(nanoseconds_of(slow.journal.requests[5].first_token) == 400'000'000 + step_ns(256, 256));
}

TEST_CASE("a queue on the link counts", "[models]") {
  // At 10 GB/s a load takes 1.69 ms: 3.71 ms with its token, against 4.56 ms. Behind the first
  // request's load the second's would take 5.40 ms.
  const EngineRun run = run_engine(history(), setup_of(10'000'000'000));
  CHECK(run.load_decisions->loaded == 1);
  CHECK(run.load_decisions->recomputed == 1);
  CHECK(run.journal.requests[5].cached_tokens[1] == 128);
  CHECK(run.journal.requests[6].cached_tokens[1] == 0);
}

}  // namespace
}  // namespace spillway::test
