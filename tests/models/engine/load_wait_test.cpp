// Who waits for a load from below, under each of engine.load's semantics.
//
// All but the last case share a history: request 0 computes 128 tokens (8 blocks of 2 MiB), which
// go to DRAM; others push them out of the pool of 20 blocks. At 400 ms a request repeats request
// 0's prompt, so that 16 MiB are loaded and one token is computed: 2 ms + 20 us + 5 ns x 128 =
// 2,020,640 ns. The link takes 10 us + bytes / bandwidth.
#include "models/engine/connectors/load_wait.hpp"

#include "sim/rng.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kTraceBlock = 64;  // four engine blocks of 16
constexpr std::int64_t kAt = 400'000'000;
constexpr std::int64_t kPayload = 8 * 2'097'152;
constexpr std::int64_t kLoad = 10'000 + (kPayload + 24) / 25;  // at 25 GB/s: 681,089 ns
constexpr std::int64_t kSlowLoad = 10'000 + kPayload / 2;      // at 2 GB/s: 8,398,608 ns

constexpr LoadSemantics kAll[] = {LoadSemantics::kAsync, LoadSemantics::kBlocking,
                                  LoadSemantics::kBarrier, LoadSemantics::kLayerwise};

Setup setup_of(LoadSemantics load, bool async_scheduling = false) {
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.config.load = load;
  setup.config.layers = 4;
  setup.config.async_scheduling = async_scheduling;
  setup.dram_blocks = 100;
  return setup;
}

/// The history, then `last`. Requests 5, 6, ... are the last ones.
Workload history(const std::vector<Row>& last) {
  std::vector<Row> rows = {{0, 128, 1, {1, 2}},
                           {100, 128, 1, {3, 4}},
                           {200, 256, 1, {5, 6, 7, 8}},
                           {300, 256, 1, {9, 10, 11, 12}},
                           {350, 64, 1, {13}}};
  rows.insert(rows.end(), last.begin(), last.end());
  return workload_of(rows, kTraceBlock);
}

/// From 400 ms on.
std::int64_t first_token(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].first_token) - kAt;
}
std::int64_t finish(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].finish) - kAt;
}

TEST_CASE("alone, a request waits for its load however that is told", "[models]") {
  const Workload workload = history({{400, 128, 1, {1, 2}}});
  for (const LoadSemantics load :
       {LoadSemantics::kAsync, LoadSemantics::kBlocking, LoadSemantics::kBarrier}) {
    INFO(name_of(load));
    const EngineRun run = run_engine(workload, setup_of(load));
    CHECK(run.journal.requests[5].cached_tokens[1] == 128);
    CHECK(first_token(run, 5) == kLoad + step_ns(1, 128));
    CHECK(run.load_stall.count() == (load == LoadSemantics::kAsync ? 0 : kLoad));
    CHECK(run.flush_stall.count() == 0);
  }
}

TEST_CASE("a blocking load delays everybody in its batch", "[models]") {
  // Request 6 computes 64 tokens. Blocking: one step of 65 tokens on 128 + 64 behind the load.
  const Workload workload = history({{400, 128, 1, {1, 2}}, {400, 64, 1, {20}}});
  const EngineRun blocking = run_engine(workload, setup_of(LoadSemantics::kBlocking));
  CHECK(first_token(blocking, 5) == kLoad + step_ns(65, 192));
  CHECK(first_token(blocking, 6) == kLoad + step_ns(65, 192));
  CHECK(blocking.load_stalls == 1);
  CHECK(blocking.journal.steps.back().stall.count() == kLoad);
  CHECK(nanoseconds_of(blocking.journal.requests[5].scheduled) == kAt);
  // Asynchronous: request 6 computes beside the load; request 5 runs in the next step.
  const EngineRun async = run_engine(workload, setup_of(LoadSemantics::kAsync));
  CHECK(first_token(async, 6) == step_ns(64, 64));
  CHECK(first_token(async, 5) == step_ns(64, 64) + step_ns(1, 128));
  CHECK(async.load_stalls == 0);
}

TEST_CASE("a blocking batch waits for the loads of all its requests", "[models]") {
  // Two loads of 681,089 ns follow one another on the link; two tokens on 2 x 128.
  const Workload workload = history({{400, 128, 1, {1, 2}}, {400, 128, 1, {3, 4}}});
  const EngineRun run = run_engine(workload, setup_of(LoadSemantics::kBlocking));
  CHECK(first_token(run, 5) == 2 * kLoad + step_ns(2, 256));
  CHECK(first_token(run, 6) == 2 * kLoad + step_ns(2, 256));
}

TEST_CASE("a barrier lets a load run beside one step, not two", "[models]") {
  // At 2 GB/s the load takes 8,398,608 ns, request 6's prefill 3,280,320 ns.
  const Workload workload = history({{400, 128, 1, {1, 2}}, {400, 64, 3, {20}}});
  Setup setup = setup_of(LoadSemantics::kBarrier);
  setup.bytes_per_second = 2'000'000'000;
  const std::int64_t prefill = step_ns(64, 64);
  REQUIRE(prefill < kSlowLoad);
  for (const bool async_scheduling : {false, true}) {
    INFO("async_scheduling: " << async_scheduling);
    setup.config.async_scheduling = async_scheduling;
    // The next step holds request 5's token and request 6's second, on 128 + 65; the third follows.
    const EngineRun run = run_engine(workload, setup);
    CHECK(first_token(run, 6) == prefill);
    CHECK(first_token(run, 5) == kSlowLoad + step_ns(2, 193));
    CHECK(finish(run, 6) == kSlowLoad + step_ns(2, 193) + step_ns(1, 66));
    CHECK(run.load_stalls == 1);
    CHECK(run.load_stall.count() == kSlowLoad - prefill);
  }
  // Asynchronous: request 6 ends after prefill + 2 steps, before the load does.
  setup.config.load = LoadSemantics::kAsync;
  setup.config.async_scheduling = false;
  const EngineRun async = run_engine(workload, setup);
  CHECK(finish(async, 6) == prefill + step_ns(1, 65) + step_ns(1, 66));
  CHECK(first_token(async, 5) == kSlowLoad + step_ns(1, 128));
}

TEST_CASE("a load that ends within the step costs a barrier nothing", "[models]") {
  const Workload workload = history({{400, 128, 1, {1, 2}}, {400, 64, 1, {20}}});
  const EngineRun run = run_engine(workload, setup_of(LoadSemantics::kBarrier));
  CHECK(first_token(run, 6) == step_ns(64, 64));
  CHECK(first_token(run, 5) == step_ns(64, 64) + step_ns(1, 128));
  CHECK(run.load_stalls == 0);
}

TEST_CASE("a layer-wise load hides behind the layers but for its first piece", "[models]") {
  // Four pieces of 4 MiB: x = 10,000 + 4,194,304 / 25 = 177,773 ns (rounded up); c = 2,020,640 / 4
  // = 505,160 ns. x <= c: x + 4 c.
  const Workload workload = history({{400, 128, 1, {1, 2}}});
  const EngineRun run = run_engine(workload, setup_of(LoadSemantics::kLayerwise));
  CHECK(first_token(run, 5) == 177'773 + step_ns(1, 128));
  CHECK(run.load_stall.count() == 177'773);
  std::int64_t moved = 0;
  std::uint32_t pieces = 0;
  for (const TransferRecord& t : run.journal.transfers) {
    if (t.link != 1) continue;
    ++pieces;
    moved += t.payload.count();
    CHECK(t.copies == 8);  // one per block
  }
  CHECK(pieces == 4);
  CHECK(moved == kPayload);
}

TEST_CASE("a slow layer-wise load hides the layers but for the last", "[models]") {
  // At 2 GB/s x = 10,000 + 2,097,152 = 2,107,152 ns > c = 505,160 ns: 4 x + c.
  Setup setup = setup_of(LoadSemantics::kLayerwise);
  setup.bytes_per_second = 2'000'000'000;
  const EngineRun run = run_engine(history({{400, 128, 1, {1, 2}}}), setup);
  CHECK(first_token(run, 5) == 4 * 2'107'152 + 505'160);
}

TEST_CASE("a layer waits for the pieces of all requests, layer by layer", "[models]") {
  // Two loads: layer l's second piece arrives at 2 l x = 355,546 l ns. A step of two tokens on 256
  // takes 2,041,280 ns, c = 510,320 ns, so 2 x + 4 c. Request by request, the second one's first
  // piece would have come at 5 x.
  const Workload workload = history({{400, 128, 1, {1, 2}}, {400, 128, 1, {3, 4}}});
  const EngineRun run = run_engine(workload, setup_of(LoadSemantics::kLayerwise));
  CHECK(first_token(run, 5) == 2 * 177'773 + step_ns(2, 256));
  CHECK(first_token(run, 6) == 2 * 177'773 + step_ns(2, 256));
}

TEST_CASE("pieces keep the fragments of the layout", "[models]") {
  // Blocks of 8 pieces over 4 layers: 8 blocks x 2 pieces a layer.
  Setup setup = setup_of(LoadSemantics::kLayerwise);
  setup.config.copies_per_block = 8;
  const EngineRun run = run_engine(history({{400, 128, 1, {1, 2}}}), setup);
  CHECK(run.journal.transfers.back().link == 1);
  CHECK(run.journal.transfers.back().copies == 16);
}

TEST_CASE("bytes and time that do not divide by the layers add up", "[models]") {
  // 3 layers: 16 MiB = 5,592,405 + 5,592,405 + 5,592,406 bytes, the step 673,546 + 673,547 +
  // 673,547 ns. The first piece takes 10,000 + 223,696.2 -> 233,697 ns; the rest hides.
  Setup setup = setup_of(LoadSemantics::kLayerwise);
  setup.config.layers = 3;
  const EngineRun run = run_engine(history({{400, 128, 1, {1, 2}}}), setup);
  CHECK(first_token(run, 5) == 233'697 + step_ns(1, 128));
}

TEST_CASE("with two batches in flight a step's loads begin when it does", "[models]") {
  // Request 6 computes alone from 400 ms on; request 5 arrives within that step, is scheduled at
  // its end, beside request 6's second token, and runs in the step behind that one.
  const Workload workload = history({{400, 64, 4, {20}}, {401, 128, 1, {1, 2}}});
  const EngineRun run = run_engine(workload, setup_of(LoadSemantics::kBlocking, true));
  const std::int64_t prefill = step_ns(64, 64);
  const std::int64_t second = prefill + step_ns(1, 65);
  CHECK(first_token(run, 5) == prefill);
  CHECK(first_token(run, 6) == second + kLoad + step_ns(2, 66 + 128));
}

/// Requests that repeat a few prompts in a pool and a tier too small for them, on slow links.
Workload crowd(std::uint64_t seed) {
  Stream rng(seed, "crowd");
  std::vector<Row> rows;
  std::int64_t now_ms = 0;
  for (int i = 0; i < 150; ++i) {
    now_ms += static_cast<std::int64_t>(rng.below(20));
    const std::uint64_t document = rng.below(8);
    const auto blocks = 1 + rng.below(4);
    std::vector<std::uint64_t> ids;
    for (std::uint64_t b = 0; b < blocks; ++b) ids.push_back(100 * document + b);
    const auto tokens = static_cast<std::uint32_t>(kTraceBlock * blocks - rng.below(20));
    rows.push_back({now_ms, tokens, 1 + static_cast<std::uint32_t>(rng.below(30)), ids});
  }
  return workload_of(rows, kTraceBlock);
}

TEST_CASE("under every semantics all requests end, all loaded bytes move, and runs repeat",
          "[models]") {
  std::uint64_t preemptions = 0;
  std::uint64_t loads = 0;
  for (const LoadSemantics load : kAll) {
    for (const bool async_scheduling : {false, true}) {
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        INFO(name_of(load) << ", async_scheduling " << async_scheduling << ", seed " << seed);
        Setup setup = setup_of(load, async_scheduling);
        setup.config.num_gpu_blocks = 40;
        setup.config.async_load_reservation = seed % 2 == 0;
        setup.config.layers = static_cast<std::uint32_t>(1 + seed);
        setup.dram_blocks = 60;
        setup.bytes_per_second = 3'000'000'000;
        const Workload workload = crowd(seed);
        const EngineRun run = run_engine(workload, setup);
        if (run.stuck > 0) continue;  // vLLM's own deadlock of parked loads
        std::int64_t moved = 0;
        for (const TransferRecord& t : run.journal.transfers) {
          if (t.link == 1) moved += t.payload.count();
        }
        const auto blocks = static_cast<std::int64_t>(run.offload.hits + run.offload.hits_resumed);
        CHECK(moved == blocks * setup.config.block_bytes.count());
        for (const RequestRecord& r : run.journal.requests) {
          CHECK(r.status == RequestStatus::kCompleted);
        }
        preemptions += run.journal.preempted.size();
        loads += run.offload.load_jobs;
        const EngineRun again = run_engine(workload, setup);
        CHECK(again.end == run.end);
        CHECK(again.load_stall == run.load_stall);
        CHECK(again.journal.steps.size() == run.journal.steps.size());
        if (load == LoadSemantics::kAsync) CHECK(run.load_stall.count() == 0);
      }
    }
  }
  CHECK(preemptions > 100);  // the histories are as crowded as they claim
  CHECK(loads > 1000);
}

}  // namespace
}  // namespace spillway::test
