// Running requests below HBM, on the clock: what a step reads, how long it lasts, who enters.
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kBlock = 16;
constexpr std::int64_t kBlockBytes = 16 * 131072;
constexpr std::uint64_t kWhole = 1'000'000;  // a block in Journal::cold

/// `slots` of HBM beside the null block, `below` blocks of DRAM; a prompt fits one step.
Setup streaming(std::uint32_t slots, std::uint64_t below) {
  Setup setup;
  setup.config.residency = Residency::kStreaming;
  setup.config.num_gpu_blocks = slots + 1;
  setup.config.max_num_batched_tokens = 1 << 20;
  setup.dram_blocks = below;
  return setup;
}

/// `blocks` blocks of 16 tokens with ids from `first` on.
std::vector<std::uint64_t> chain(std::uint64_t first, std::uint32_t blocks) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = 0; i < blocks; ++i) out.push_back(first + i);
  return out;
}

Row request(std::int64_t arrival_ms, std::uint32_t blocks, std::uint32_t output,
            std::uint64_t first = 0) {
  return {arrival_ms, blocks * kBlock, output, chain(first, blocks)};
}

/// Nanoseconds of one job of so many blocks: 10 us + bytes / 25 GB/s.
std::int64_t move_ns(std::int64_t blocks) {
  return 10'000 + ceil_div(blocks * kBlockBytes, std::int64_t{25});
}

std::int64_t length_ns(const StepRecord& step) {
  return (step.end - step.start).count();
}

TEST_CASE("streaming: a decode reads W - 1 cold blocks under LRU, W - C + 1 under the composition",
          "[models]") {
  // 999 full blocks and the one being written: W = 1,000 in C slots. The tail that a decode writes
  // stays, so 999 blocks go round through C - 1 slots. LRU has always just dropped the next one.
  // The composition holds P + T = C - 2 blocks, and all others go through the one slot left:
  // 999 - (C - 2) = W - C + 1 reads a token, the figure of the policy's own cyclic-read test.
  constexpr std::uint32_t kW = 1000;
  const std::uint32_t slots = GENERATE(420u, 850u);
  const Workload workload = workload_of({request(0, kW - 1, 12)}, kBlock);
  for (const bool composition : {false, true}) {
    Setup setup = streaming(slots, 2000);
    setup.config.max_num_batched_tokens = 2048;
    if (composition) {
      setup.hbm_eviction =
          fmt::format("composition:prefix_tokens=2048:tail_tokens={}", 16 * (slots - 2) - 2048);
    }
    const EngineRun run = run_engine(workload, setup);
    REQUIRE(run.stuck == 0);
    REQUIRE(run.journal.cold.size() == 11);
    const std::uint64_t expected = composition ? kW - slots + 1 : kW - 1;
    for (std::size_t token = 2; token < 11; ++token) {
      CHECK(run.journal.cold[token] == expected * kWhole);
    }
  }
}

TEST_CASE("streaming: a step lasts the longer of compute and transfer, by the efficiency",
          "[models]") {
  // 64 blocks through 33 slots, LRU: every decode reads 64 blocks, 134 MB, in 5.4 ms; computing
  // takes 2.02 ms + 5 ns x 1,025 and so on. Nothing is written down: all copies below are there.
  Setup setup = streaming(33, 200);
  setup.config.max_num_batched_tokens = 256;
  SECTION("overlapped") {
    const EngineRun run = run_engine(workload_of({request(0, 64, 8)}, kBlock), setup);
    const auto& steps = run.journal.steps;
    REQUIRE(steps.size() == 4 + 7);
    for (std::size_t k = 6; k < steps.size(); ++k) {
      CHECK(length_ns(steps[k]) == ceil_div(move_ns(64) * 100, 96));
    }
  }
  SECTION("in turns") {
    setup.config.cold.form = StreamForm::kSerial;
    const EngineRun run = run_engine(workload_of({request(0, 64, 8)}, kBlock), setup);
    const auto& steps = run.journal.steps;
    for (std::size_t k = 6; k < steps.size(); ++k) {
      const auto context = static_cast<std::int64_t>(1025 + (k - 4));
      CHECK(length_ns(steps[k]) == move_ns(64) + step_ns(1, context));
    }
  }
  SECTION("compute longer than the transfer") {
    setup.bytes_per_second = 250'000'000'000;
    const EngineRun run = run_engine(workload_of({request(0, 64, 8)}, kBlock), setup);
    const auto& steps = run.journal.steps;
    for (std::size_t k = 6; k < steps.size(); ++k) {
      const auto context = static_cast<std::int64_t>(1025 + (k - 4));
      CHECK(length_ns(steps[k]) == ceil_div(step_ns(1, context) * 100, 96));
    }
  }
}

TEST_CASE("streaming: where HBM holds everything it is the same engine", "[models]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 30; ++i) {
    rows.push_back({40 * i, 500 + 37 * (i % 5), 20 + i, chain(100 * (i % 5), 40)});
  }
  const Workload workload = workload_of(rows, kBlock);
  Setup setup = streaming(4000, 100);
  setup.config.max_num_batched_tokens = 512;
  const EngineRun stream = run_engine(workload, setup);
  setup.config.residency = Residency::kFull;
  setup.dram_blocks = 0;
  const EngineRun full = run_engine(workload, setup);
  REQUIRE(stream.journal.steps.size() == full.journal.steps.size());
  for (std::size_t i = 0; i < full.journal.steps.size(); ++i) {
    CHECK(stream.journal.steps[i].start == full.journal.steps[i].start);
    CHECK(stream.journal.steps[i].end == full.journal.steps[i].end);
  }
  CHECK(stream.prefix.hits == full.prefix.hits);
  CHECK(stream.journal.transfers.empty());
  for (const std::uint64_t cold : stream.journal.cold) CHECK(cold == 0);
}

TEST_CASE("streaming: a session's budget spills its excess as soon as it is filled", "[models]") {
  // 100 blocks in one step, 40 of them within the budget; HBM has room for all. The 60 others go
  // down in one job, and the first decode, which reads them all, brings them up again.
  Setup setup = streaming(500, 500);
  SECTION("session-budget") {
    setup.hbm_eviction = "session-budget:budget_tokens=640";
  }
  SECTION("composition: first 10 and last 10 blocks beside a budget of 20") {
    setup.hbm_eviction = "composition:prefix_tokens=160:tail_tokens=160:budget_tokens=320";
  }
  const EngineRun run = run_engine(workload_of({request(0, 100, 4)}, kBlock), setup);
  REQUIRE(run.journal.transfers.size() >= 2);
  const TransferRecord& down = run.journal.transfers[0];
  CHECK(down.link == 0);
  CHECK(down.payload == Bytes(60 * kBlockBytes));
  CHECK(down.submitted == run.journal.steps[0].end);
  CHECK(run.journal.transfers[1].payload == Bytes(60 * kBlockBytes));
  CHECK(run.journal.cold == std::vector<std::uint64_t>{60 * kWhole, 0, 0});
}

TEST_CASE("streaming: a request enters when its whole sequence fits HBM and the tier together",
          "[models]") {
  // Two requests of 50 prompt blocks and 17 tokens of output: 816 tokens of KV, 51 blocks each.
  // HBM has 40 slots, so 62 blocks below let both run at once and 61 do not.
  const bool both = GENERATE(true, false);
  const Workload apart = workload_of({request(0, 50, 17, 0), request(0, 50, 17, 1000)}, kBlock);
  const EngineRun run = run_engine(apart, streaming(40, both ? 62 : 61));
  REQUIRE(run.stuck == 0);
  CHECK((run.journal.requests[1].scheduled < run.journal.requests[0].finish) == both);
  CHECK(run.journal.preempted.empty());
}

TEST_CASE("streaming: blocks that requests share count once", "[models]") {
  // 30 of 51 blocks are shared: 51 + 21 = 72 blocks, 40 of them in HBM.
  const bool both = GENERATE(true, false);
  Row second = request(1, 50, 17, 1000);
  for (std::uint32_t i = 0; i < 30; ++i) second.blocks[i] = i;
  const Workload shared = workload_of({request(0, 50, 17), second}, kBlock);
  const EngineRun run = run_engine(shared, streaming(40, both ? 32 : 31));
  REQUIRE(run.stuck == 0);
  CHECK((run.journal.requests[1].scheduled < run.journal.requests[0].finish) == both);
}

TEST_CASE("streaming: what exceeds all tiers is refused, what fills them to the last block runs",
          "[models]") {
  // 50 prompt blocks and 17 tokens of output are 51 blocks: 21 slots and 30 blocks below.
  const Workload workload = workload_of({request(0, 50, 17)}, kBlock);
  const EngineRun fits = run_engine(workload, streaming(21, 30));
  CHECK(fits.journal.requests[0].status == RequestStatus::kCompleted);
  const EngineRun exceeds = run_engine(workload, streaming(21, 29));
  CHECK(exceeds.journal.requests[0].reason == Reason::kExceedsPool);
  // In the last steps all 51 places are taken: a block read and its victim change places, both
  // ways over the link.
  std::int64_t down = 0;
  for (const TransferRecord& t : fits.journal.transfers) down += t.link == 0 ? 1 : 0;
  CHECK(down > 10);
}

TEST_CASE("streaming: a selecting decode reads its share and leaves blocks where they are",
          "[models]") {
  // 100 blocks, 41 slots. The prompt's second chunk (25 + 75 blocks would not fit) has left some
  // of them below; the decode reads a tenth of these, of which a page cache has half.
  Setup setup = streaming(41, 200);
  setup.config.max_num_batched_tokens = 400;
  setup.config.cold.selected_ppm = 100'000;
  setup.config.cold.page_cache_ppm = 500'000;
  const EngineRun run = run_engine(workload_of({request(0, 100, 10)}, kBlock), setup);
  REQUIRE(run.journal.cold.size() == 9);
  // 101 blocks with the tail, 41 of them in HBM.
  const std::uint64_t cold = 60;
  for (const std::uint64_t token : run.journal.cold) CHECK(token == cold * kWhole / 20);
  const TransferRecord& last = run.journal.transfers.back();
  CHECK(last.link == 1);
  CHECK(last.payload == Bytes(ceil_div(static_cast<std::int64_t>(cold) * kBlockBytes, 20)));
}

TEST_CASE("streaming: an evicted token never holds a slot below", "[models]") {
  // A budget of 320 tokens: 20 blocks. Two sequences of 1,600 + 40 tokens keep 20 blocks each, in
  // HBM; nothing of them goes below or is found again, though HBM is full and the tier empty.
  Setup setup = streaming(45, 1000);
  setup.config.token_budget = 320;
  const Workload workload =
      workload_of({request(0, 100, 40), request(0, 100, 40), request(5000, 10, 10, 500)}, kBlock);
  const EngineRun run = run_engine(workload, setup);
  REQUIRE(run.stuck == 0);
  CHECK(run.prefix.hits == 0);
  std::uint32_t most = 0;
  for (const TierChange& change : run.journal.tier_changes) {
    if (change.tier == 1) CHECK(change.resident == 0);
    if (change.tier == 0) most = std::max(most, change.used);
  }
  CHECK(most == 40);
  CHECK(run.journal.transfers.empty());
  // A decode attends to 320 tokens: 2 x 20 us + 2 x 320 x 5 ns.
  CHECK(length_ns(run.journal.steps[5]) == step_ns(2, 640));
}

TEST_CASE("streaming: sequences within the token budget are kept, found and stored as ever",
          "[models]") {
  Setup setup = streaming(30, 1000);
  setup.config.token_budget = 2000;
  const EngineRun with = run_engine(workload_of({request(0, 100, 5)}, kBlock), setup);
  setup.config.token_budget = 0;
  const EngineRun without = run_engine(workload_of({request(0, 100, 5)}, kBlock), setup);
  CHECK(with.journal.cold == without.journal.cold);
  CHECK(with.end == without.end);
}

TEST_CASE("streaming: a later turn finds its blocks below and reads them as it runs", "[models]") {
  // The first request leaves 60 blocks in 41 slots and below; the second has them all as a prefix
  // and starts at once, without a load: it computes in the step in which it is scheduled.
  const Workload workload = workload_of({request(0, 60, 2), request(9000, 61, 2)}, kBlock);
  const EngineRun run = run_engine(workload, streaming(41, 200));
  const RequestRecord& second = run.journal.requests[1];
  CHECK(second.scheduled == second.arrival);
  CHECK(second.cached_tokens[0] + second.cached_tokens[1] == 60 * kBlock);
  CHECK(second.cached_tokens[1] >= 19 * kBlock);
}

TEST_CASE("streaming: what running requests need is somewhere after every step", "[models]") {
  // 12 sessions of 60 to 90 blocks, a shared template of 20, on 101 slots: four or so run at once.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 40; ++i) {
    Row row = request(3 * i, 60 + 7 * (i % 5), 30 + i % 17, 1000 + 100 * (i % 12));
    for (std::uint32_t k = 0; k < 20; ++k) row.blocks[k] = k;
    rows.push_back(row);
  }
  const std::string policy =
      GENERATE(as<std::string>(), "lru", "lfu", "arc", "s3fifo", "session-budget:budget_tokens=640",
               "composition:prefix_tokens=160:tail_tokens=64:sessions=2",
               "composition:prefix_tokens=32:tail_tokens=64:budget_tokens=320");
  const std::uint64_t below = GENERATE(260u, 2000u);
  Setup setup = streaming(101, below);
  setup.config.max_num_batched_tokens = 300;
  setup.hbm_eviction = policy;
  const Workload workload = workload_of(rows, kBlock);
  const EngineRun run = run_engine(workload, setup);
  INFO(policy);
  REQUIRE(run.stuck == 0);
  std::uint64_t most = 0;
  for (const NeededBlocks& n : run.journal.needed) {
    REQUIRE(n.in_hbm + n.below_only == n.blocks);
    REQUIRE(n.in_hbm <= 101);
    REQUIRE(n.below_only <= below);
    most = std::max(most, n.blocks);
  }
  CHECK(most > 101);
  CHECK(run.journal.preempted.empty());
  // Again: the same to the nanosecond.
  const EngineRun again = run_engine(workload, setup);
  CHECK(again.end == run.end);
  CHECK(again.journal.cold == run.journal.cold);
}

}  // namespace
}  // namespace spillway::test
