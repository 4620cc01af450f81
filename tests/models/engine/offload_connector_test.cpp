// The OffloadingConnector beyond blocks of one size: chunks of several HBM blocks.
#include "models/engine/connectors/offload_connector.hpp"

#include <numeric>

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16
constexpr std::int64_t kBlockBytes = 16 * 131072;

/// Chunks of four blocks: 64 tokens.
Setup chunked(std::uint32_t gpu_blocks, std::uint64_t dram_blocks) {
  Setup setup;
  setup.config.num_gpu_blocks = gpu_blocks + 1;
  setup.config.blocks_per_chunk = 4;
  setup.dram_blocks = dram_blocks;
  return setup;
}

std::vector<std::int64_t> bytes_of(const EngineRun& run, std::uint32_t link) {
  std::vector<std::int64_t> out;
  for (const TransferRecord& t : run.journal.transfers) {
    if (t.link == link) out.push_back(t.payload.count());
  }
  return out;
}

std::uint32_t stored_blocks(const EngineRun& run) {
  return std::accumulate(
      run.journal.tier_changes.begin(), run.journal.tier_changes.end(), 0U,
      [](std::uint32_t sum, const TierChange& c) { return sum + (c.tier == 1 ? c.stored : 0); });
}

TEST_CASE("only whole chunks go below", "[models]") {
  // 120 tokens fill 7 blocks, but one chunk of 4; 128 fill two.
  const auto stored = [](std::uint32_t tokens) {
    const EngineRun run =
        run_engine(workload_of({{0, tokens, 1, {1, 2}}}, kTraceBlock), chunked(100, 100));
    return std::pair{bytes_of(run, 0), stored_blocks(run)};
  };
  CHECK(stored(120) == std::pair{std::vector{4 * kBlockBytes}, 4U});
  CHECK(stored(128) == std::pair{std::vector{8 * kBlockBytes}, 8U});
  CHECK(stored(63) == std::pair{std::vector<std::int64_t>{}, 0U});
}

TEST_CASE("a prefill in pieces offers each chunk once it is full", "[models]") {
  // Steps of 48 tokens: 48, 96, 144, 192 tokens are 0, 1, 2 and 3 chunks of 64.
  Setup setup = chunked(100, 100);
  setup.config.max_num_batched_tokens = 48;
  const EngineRun run = run_engine(workload_of({{0, 192, 1, {1, 2, 3}}}, kTraceBlock), setup);
  CHECK(bytes_of(run, 0) == std::vector(3, 4 * kBlockBytes));
}

TEST_CASE("of its first chunk a load brings only what HBM lacks", "[models]") {
  // HBM has 16 blocks. Request 0 leaves 12, request 1 takes 10: 4 free ones and request 0's last 6.
  // Request 2 repeats request 0: it finds 6 blocks above, begins at chunk 6 / 4 = 1, finds it and
  // the next, and loads blocks 6 to 11.
  const Workload workload = workload_of(
      {{0, 192, 1, {1, 2, 3}}, {100, 160, 1, {4, 5, 6}}, {200, 192, 1, {1, 2, 3}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, chunked(16, 100));
  const RequestRecord& last = run.journal.requests[2];
  CHECK(last.cached_tokens[0] == 6 * 16);
  CHECK(last.cached_tokens[1] == 6 * 16);
  CHECK(bytes_of(run, 1) == std::vector{6 * kBlockBytes});
  // Asked: what 12 full blocks, 10, and 12 less the 6 in HBM hold.
  CHECK(run.offload.queries == 12 + 10 + 6);
  CHECK(run.offload.hits == 6);
}

TEST_CASE("a load that brings less than a chunk is not worth it", "[models]") {
  // As above with 12 blocks of HBM and two chunks: 6 blocks are above, and the chunk that has the
  // other 2 would bring less than its 4. They are computed.
  const Workload workload =
      workload_of({{0, 128, 1, {1, 2}}, {100, 96, 1, {3, 4}}, {200, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, chunked(12, 100));
  CHECK(run.journal.requests[2].cached_tokens[0] == 6 * 16);
  CHECK(run.journal.requests[2].cached_tokens[1] == 0);
  CHECK(bytes_of(run, 1).empty());
}

TEST_CASE("a chunk being written defers who needs it", "[models]") {
  // Without a prefix cache above, request 1 needs both chunks of request 0, whose store takes 10 us
  // + 16 MiB over 0.1 GB/s = 168 ms. It comes at 60 ms, waits, and loads them.
  Setup setup = chunked(100, 100);
  setup.bytes_per_second = 100'000'000;
  setup.config.enable_prefix_caching = false;
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {60, 128, 1, {1, 2}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, setup);
  const std::int64_t copy = 10'000 + 8 * kBlockBytes * 10;
  const std::int64_t stored = step_ns(128, 128) + copy;
  CHECK(run.journal.requests[1].cached_tokens[1] == 128);
  CHECK(nanoseconds_of(run.journal.requests[1].first_token) == stored + copy + step_ns(1, 128));
}

TEST_CASE("room below is counted in whole chunks", "[models]") {
  // 11 blocks are two chunks. Three prompts of one chunk each: the third pushes out the first.
  const Workload workload =
      workload_of({{0, 64, 1, {1}}, {100, 64, 1, {2}}, {200, 64, 1, {3}}}, kTraceBlock);
  const EngineRun run = run_engine(workload, chunked(100, 11));
  CHECK(stored_blocks(run) == 12);
  std::uint32_t evicted = 0;
  for (const TierChange& c : run.journal.tier_changes) {
    if (c.tier != 1) continue;
    evicted += c.evicted;
    CHECK(c.resident <= 8);
  }
  CHECK(evicted == 4);
}

/// The same prompt every 100 ms, on an engine that forgets it in between.
EngineRun repeated(std::uint32_t tokens, std::uint32_t times, const Setup& setup) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < times; ++i) rows.push_back({100 * i, tokens, 1, {1}});
  return run_engine(workload_of(rows, kTraceBlock), setup);
}

Setup with_threshold(bool counts_offers) {
  Setup setup;
  setup.dram_blocks = 100;
  setup.config.store_threshold = 2;
  setup.config.threshold_counts_offers = counts_offers;
  setup.config.enable_prefix_caching = false;
  return setup;
}

TEST_CASE("with a threshold of 2, what is offered twice is stored", "[models]") {
  // 3 blocks: the first offer is skipped, the second stored, the third request finds all.
  const EngineRun run = repeated(48, 3, with_threshold(true));
  CHECK(run.offload.stores_skipped == 3);
  CHECK(run.offload.store_jobs == 1);
  CHECK(run.journal.requests[1].cached_tokens[1] == 0);
  CHECK(run.journal.requests[2].cached_tokens[1] == 48);
}

TEST_CASE("counted by look-ups, a cold prefix of N blocks takes 2N + 1 repetitions", "[models]") {
  // A look-up counts what it finds and the first miss. Of 3 blocks, the first is missed twice and
  // stored with request 1; requests 2 and 3 find it and miss the second; 4 and 5 the third; request
  // 6, the 7th repetition, finds all.
  const EngineRun run = repeated(48, 7, with_threshold(false));
  std::vector<std::uint32_t> found;
  for (const RequestRecord& r : run.journal.requests) found.push_back(r.cached_tokens[1]);
  CHECK(found == std::vector<std::uint32_t>{0, 0, 16, 16, 32, 32, 48});
  // Offered behind what was found, and not yet known: 3, 2, 2, 1, 1, 0, 0.
  CHECK(run.offload.stores_skipped == 3 + 2 + 2 + 1 + 1);
}

TEST_CASE("counted by look-ups, what HBM holds is never stored", "[models]") {
  // 50 tokens: from the second time on HBM has all 3 full blocks, and nothing is looked up below.
  Setup setup = with_threshold(false);
  setup.config.enable_prefix_caching = true;
  CHECK(repeated(50, 10, setup).offload.store_jobs == 0);
  setup.config.threshold_counts_offers = true;
  CHECK(repeated(50, 10, setup).offload.store_jobs == 1);
}

TEST_CASE("look-ups of a head that waits count at every step", "[models]") {
  // 20 blocks of HBM, held by request 0 for 200 tokens. Request 1 cannot be allocated and looks
  // again at every step, so its first block passes the threshold before it has run once: the store
  // with its prefill takes that block.
  Setup setup = with_threshold(false);
  setup.config.num_gpu_blocks = 21;
  const EngineRun run = run_engine(
      workload_of({{0, 64, 200, {1}}, {10, 300, 1, {5, 6, 7, 8, 9}}}, kTraceBlock), setup);
  CHECK(run.offload.store_jobs == 1);
  CHECK(bytes_of(run, 0) == std::vector{kBlockBytes});
}

TEST_CASE("section 9 (5): a refused batch is offered again, larger, until it is taken",
          "[models]") {
  // DRAM has 8 slots. Request 0's 8 blocks take 168 ms to be written, and nothing may leave.
  // Request 1 computes 64 tokens a step and offers 4 blocks, refused; then 8, refused at every step
  // of its decode until request 0's are there to be evicted; then all 8 go in one job.
  Setup setup;
  setup.dram_blocks = 8;
  setup.bytes_per_second = 100'000'000;
  setup.config.max_num_batched_tokens = 64;
  const EngineRun run =
      run_engine(workload_of({{0, 128, 1, {1, 2}}, {10, 128, 100, {3, 4}}}, kTraceBlock), setup);
  // Request 0's blocks go in two jobs, as they are computed.
  CHECK(bytes_of(run, 0) == std::vector{4 * kBlockBytes, 4 * kBlockBytes, 8 * kBlockBytes});
  const Time written = run.journal.transfers[1].ended;
  const auto refused = std::count_if(run.journal.steps.begin() + 2, run.journal.steps.end(),
                                     [&](const StepRecord& s) { return s.start < written; });
  CHECK(refused > 50);
  CHECK(run.offload.store_failures == static_cast<std::uint64_t>(refused));
  CHECK(stored_blocks(run) == 16);
}

TEST_CASE("runs end whole, whatever the chunks, whatever meets", "[models]") {
  // Prompts that share prefixes of odd lengths, in a pool and a tier that are far too small: the
  // engine's own assertions watch pins, slots and jobs.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Stream random(seed, "chunks");
    std::vector<Row> rows;
    for (std::int64_t i = 0; i < 60; ++i) {
      Row row{i * 3, 0, 1 + static_cast<std::uint32_t>(random.below(40)), {}};
      const std::uint64_t family = random.below(4);
      const auto depth = static_cast<std::uint32_t>(1 + random.below(6));
      for (std::uint32_t b = 0; b < depth; ++b) row.blocks.push_back(100 * family + b);
      row.input_tokens =
          (depth - 1) * kTraceBlock + 1 + static_cast<std::uint32_t>(random.below(kTraceBlock));
      rows.push_back(row);
    }
    for (const std::uint32_t k : {1U, 2U, 3U, 5U}) {
      Setup setup = chunked(40, 33);
      setup.config.blocks_per_chunk = k;
      setup.config.max_num_batched_tokens = 100;
      setup.eviction = random.chance(0.5) ? "vllm-arc" : "lru";
      setup.config.offload_prompt_only = random.chance(0.5);
      setup.config.async_scheduling = random.chance(0.5);
      setup.bytes_per_second = 1'000'000'000;
      CAPTURE(seed, k);
      const EngineRun run = run_engine(workload_of(rows, kTraceBlock), setup);
      CHECK(run.stuck == 0);
      for (const TierChange& c : run.journal.tier_changes) {
        if (c.tier == 1) REQUIRE(c.resident % k == 0);
      }
    }
  }
}

}  // namespace
}  // namespace spillway::test
