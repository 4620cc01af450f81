// Mooncake Store as vLLM's connector: small histories. Whole ones are compared with the oracle.
//
// A block of 16 tokens takes 1 ms on each link, and a step of n tokens over a context of c lasts
// 2,000,000 + 20,000 n + 5 c ns. HBM has no prefix cache, so that all hits are the store's.
#include "models/engine/engine_parts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kTraceBlock = 64;  // four blocks of the engine
constexpr std::int64_t kObject = 16 * 131072;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kStep = step_ns(64, 64);

/// Links 0 and 1: to and from memory; 2 and 3: to and from the SSD.
struct Store {
  Setup setup;
  std::int64_t memory;
  std::int64_t ssd;

  explicit Store(std::int64_t objects, std::int64_t on_ssd = 0) : memory(objects), ssd(on_ssd) {
    setup.config.connector = ConnectorKind::kMooncake;
    setup.config.enable_prefix_caching = false;
    setup.config.mooncake.check = seconds(3600);  // nothing leaves unless a test says so
  }
  MooncakeConfig& rules() { return setup.config.mooncake; }

  EngineRun run(const std::vector<Row>& rows) const {
    const Workload workload = workload_of(rows, kTraceBlock);
    EngineParts parts = parts_of(setup);
    parts.chunked = std::make_unique<ChunkedConfig>();
    NetworkSpec network;
    for (const std::int64_t objects : {memory, ssd}) {
      if (objects == 0) break;
      ChunkTierConfig tier;
      const auto lane = static_cast<std::uint32_t>(network.lanes.size());
      tier.capacity = Bytes(kObject * objects);
      tier.port.lanes = true;
      tier.port.lane[index_of(StorageOp::kWrite)] = tier.port.client.write_link = lane;
      tier.port.lane[index_of(StorageOp::kRead)] = tier.port.client.read_link = lane + 1;
      network.lanes.insert(network.lanes.end(), 2, {Duration(0), 1000 * kObject, 1});
      parts.chunked->tiers.push_back(std::move(tier));
    }
    SharedThings things;
    parts.things = &things;
    return run_parts(workload, std::move(parts), network);
  }
};

std::int64_t first_token(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].first_token);
}

TEST_CASE("vLLM on Mooncake: a prefill saves its blocks, another loads them", "[models]") {
  // Request 0 computes four blocks and puts them in 4 ms. Request 1 has five: it waits 4 ms for
  // four of them, computes 16 tokens, and puts one block in 1 ms.
  const EngineRun run = Store(100).run({{0, 64, 1, {1}}, {100, 80, 1, {1, 2}}});
  CHECK(ends_of(run, 0) == std::vector{kStep + 4 * kMs, 104 * kMs + step_ns(16, 80) + kMs});
  CHECK(ends_of(run, 1) == std::vector{104 * kMs});
  CHECK(run.journal.requests[1].cached_tokens[1] == 64);
  CHECK(first_token(run, 1) == 104 * kMs + step_ns(16, 80));
  CHECK(run.chunk_tiers[0].queries == 4 + 5);
  CHECK(run.chunk_tiers[0].hits == 4);
  CHECK(run.chunk_tiers[0].stored == 5);
}

TEST_CASE("vLLM on Mooncake: an aligned prompt computes its last block again", "[models]") {
  const EngineRun run = Store(100).run({{0, 64, 1, {1}}, {100, 64, 1, {1}}});
  CHECK(run.journal.requests[1].cached_tokens[1] == 48);
  CHECK(first_token(run, 1) == 103 * kMs + step_ns(16, 64));
  CHECK(ends_of(run, 0).size() == 1);  // at its save all four are there
}

TEST_CASE("vLLM on Mooncake: answers are not saved, unless they are computed again", "[models]") {
  // 64 + 33 tokens would be six blocks; the prompt has four.
  const EngineRun run = Store(100).run({{0, 64, 33, {1}}});
  CHECK(run.chunk_tiers[0].stored == 4);
}

TEST_CASE("vLLM on Mooncake: steps of a chunked prefill save what each has filled", "[models]") {
  // Steps of 40 tokens fill 2 and 3 blocks. The second save waits for the first, which lasts 2 ms.
  Store store(100);
  store.setup.config.max_num_batched_tokens = 40;
  const EngineRun run = store.run({{0, 80, 1, {1, 2}}});
  const std::int64_t first = step_ns(40, 40);
  const std::int64_t second = first + step_ns(40, 80);
  CHECK(second > first + 2 * kMs);
  CHECK(ends_of(run, 0) == std::vector{first + 2 * kMs, second + 3 * kMs});
  CHECK(first_token(run, 0) == second);
}

TEST_CASE("vLLM on Mooncake: gets follow one another", "[models]") {
  // Both ask for the same three blocks at 100 ms; the second get begins when the first has ended.
  const EngineRun run = Store(100).run({{0, 64, 1, {1}}, {100, 64, 1, {1}}, {100, 64, 1, {1}}});
  CHECK(ends_of(run, 1) == std::vector{103 * kMs, 106 * kMs});
}

TEST_CASE("vLLM on Mooncake: a get that lasts as long as its lease fails the request", "[models]") {
  Store store(100);
  store.rules().lease = milliseconds(3);
  const std::vector<Row> rows = {{0, 64, 1, {1}}, {100, 64, 1, {1}}};
  const EngineRun fails = store.run(rows);
  CHECK(fails.journal.requests[1].status == RequestStatus::kFailed);
  CHECK(fails.journal.requests[1].reason == Reason::kKvLoadFailed);
  CHECK(fails.load_failures == 1);
  CHECK(fails.chunk_tiers[0].lost == 3);
  // Or it computes all of its 64 tokens, and is not asked for again.
  store.setup.config.recompute_failed = true;
  const EngineRun computes = store.run(rows);
  CHECK(computes.journal.requests[1].cached_tokens[1] == 0);
  CHECK(first_token(computes, 1) == 103 * kMs + kStep);
  CHECK(ends_of(computes, 1) == std::vector{103 * kMs});
  store.rules().lease += Duration(1);
  CHECK(store.run(rows).journal.requests[1].cached_tokens[1] == 48);
}

TEST_CASE("vLLM on Mooncake: a request that failed gives its blocks to others", "[models]") {
  // HBM has five blocks. Request 1 holds three of them for its load, which fails at 103 ms; request
  // 2 needs four.
  Store store(100);
  store.rules().lease = milliseconds(3);
  store.setup.config.num_gpu_blocks = 6;
  const EngineRun run = store.run({{0, 64, 1, {1}}, {100, 64, 1, {1}}, {101, 64, 1, {9}}});
  CHECK(run.journal.requests[1].status == RequestStatus::kFailed);
  CHECK(first_token(run, 2) == 103 * kMs + kStep);
}

TEST_CASE("vLLM on Mooncake: what memory lost comes from the SSD", "[models]") {
  // Memory holds four objects. Those of request 0 go to the SSD, one a bucket, and all leave memory
  // at the check of 50 ms. Request 1 waits for three, 3 ms from 100 ms on.
  Store store(4, 100);
  store.rules().offload = true;
  store.rules().heartbeat = milliseconds(1);
  store.rules().bucket_keys = 1;
  store.rules().check = milliseconds(50);
  const EngineRun run = store.run({{0, 64, 1, {1}}, {100, 64, 1, {1}}});
  CHECK(ends_of(run, 2).size() == 4);
  CHECK(ends_of(run, 3) == std::vector{103 * kMs});
  CHECK(run.journal.requests[1].cached_tokens[1] == 0);
  CHECK(run.journal.requests[1].cached_tokens[2] == 48);
  CHECK(run.chunk_tiers[0].evicted == 4);
}

TEST_CASE("vLLM on Mooncake: without room a request saves no more until a save succeeds",
          "[models]") {
  // Six objects fit. The first of three steps of 64 tokens saves four; the second has room for two
  // of its four, and the third step's save is left out.
  Store store(6);
  store.setup.config.max_num_batched_tokens = 64;
  const EngineRun run = store.run({{0, 192, 1, {1, 2, 3}}});
  CHECK(run.chunk_tiers[0].stored == 6);
  CHECK(run.chunk_tiers[0].refused == 2);
  const std::int64_t second = kStep + step_ns(64, 128);
  CHECK(second < kStep + 4 * kMs);
  CHECK(ends_of(run, 0) == std::vector{kStep + 4 * kMs, kStep + 6 * kMs});
}

TEST_CASE("vLLM on Mooncake: a finished request keeps its HBM blocks until its saves have ended",
          "[models]") {
  // HBM has five blocks. Request 1 needs four; request 0 holds as many until its put has ended.
  Store store(100);
  store.setup.config.num_gpu_blocks = 6;
  const EngineRun run = store.run({{0, 64, 1, {1}}, {0, 64, 1, {2}}});
  CHECK(nanoseconds_of(run.journal.requests[0].finish) == kStep);
  CHECK(first_token(run, 1) == kStep + 4 * kMs + kStep);
  // Prompts below a block save nothing and hold nothing.
  store.setup.config.num_gpu_blocks = 2;
  const EngineRun small = store.run({{0, 15, 1, {1}}, {0, 15, 1, {2}}});
  CHECK(first_token(small, 1) == 2 * step_ns(15, 15));
  CHECK(small.journal.transfers.empty());
}

TEST_CASE("vLLM on Mooncake: saves that have not begun go with a preempted request", "[models]") {
  // HBM has nine blocks, of which two prompts fill eight. At its first token each needs one more.
  // Request 1 gives way, while its save waits for that of request 0. It finds nothing of its own
  // later, and computes and saves its four blocks again.
  Store store(100);
  store.setup.config.num_gpu_blocks = 10;
  const EngineRun run = store.run({{0, 64, 4, {1}}, {0, 64, 4, {2}}});
  REQUIRE(run.journal.preempted.size() == 1);
  CHECK(run.journal.preempted[0] == RequestId{1});
  CHECK(run.stuck == 0);
  CHECK(run.chunk_tiers[0].stored == 8);  // its second life saves four
  CHECK(run.chunk_tiers[0].hits == 0);
}

}  // namespace
}  // namespace spillway::test
