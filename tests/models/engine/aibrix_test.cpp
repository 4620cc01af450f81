// AIBrix's KV cache: L1's queues and buffers, and small histories of an engine. Whole histories
// against the oracle are in tests/oracle (part aibrix).
#include "models/engine/connectors/aibrix/l1_cache.hpp"
#include "models/engine/engine_parts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kPerTraceBlock = 64;  // four engine blocks of 16
constexpr std::int64_t kBlock = 16 * 131072;
constexpr std::int64_t kMs = 1'000'000;

// ---- L1

/// What L1 tells, as "hot 3" and so on.
struct Told final : L1Watch {
  std::vector<std::pair<Ingestion, std::uint32_t>> calls;
  void on_block(Ingestion what, ChunkId id, L1Buffer) override {
    calls.emplace_back(what, static_cast<std::uint32_t>(id));
  }
  std::vector<std::uint32_t> of(Ingestion what) const {
    std::vector<std::uint32_t> out;
    for (const auto& [kind, id] : calls) {
      if (kind == what) out.push_back(id);
    }
    return out;
  }
};

struct Cache {
  Told told;
  L1Cache l1;

  Cache(std::int64_t blocks, std::uint64_t buffers, ChunkOrder order)
      : l1({Bytes(blocks * kBlock), Bytes(kBlock), buffers, Bytes(blocks * kBlock / 2), 1, order},
           told) {}
  void put(std::uint32_t id) {
    std::vector<L1Buffer> buffer;
    REQUIRE(l1.take(1, buffer) == 1);
    l1.put(ChunkId{id}, buffer[0]);
    l1.let_go(buffer[0]);
  }
  void get(std::uint32_t id) { l1.let_go(l1.get(ChunkId{id})); }
  bool has(std::uint32_t id) const { return l1.has(ChunkId{id}); }
};

using Ids = std::vector<std::uint32_t>;

TEST_CASE("AIBrix: S3-FIFO keeps what was used, and remembers what left unused", "[models]") {
  Cache c(4, 8, ChunkOrder::kS3Fifo);  // two blocks are the share of each queue
  for (std::uint32_t id = 0; id < 5; ++id) c.put(id);
  // The fifth is one too many: bytes are freed until one less than the capacity is used. 0 and 1
  // are the oldest of the small queue.
  CHECK(c.told.of(Ingestion::kEvicted) == Ids{0, 1});
  CHECK(c.l1.entries() == 3);
  // 0 is a ghost: it enters the main queue. 2 is used in the small one. Both are hot.
  c.put(0);
  c.get(2);
  CHECK(c.told.of(Ingestion::kHot) == Ids{0, 2});
  // 5: small has 2, 3, 4, 5. 2 goes to main, 3 leaves; then main is asked, whose oldest is 0.
  c.put(5);
  CHECK(c.told.of(Ingestion::kEvicted) == Ids{0, 1, 3, 0});
  CHECK((c.has(2) && c.has(4) && c.has(5)));
  // What left main is no ghost.
  c.put(0);
  CHECK(c.told.of(Ingestion::kAll) == Ids{0, 1, 2, 3, 4, 5, 0});
  c.l1.check_drained();
}

TEST_CASE("AIBrix: a use under LRU moves a block and tells once that it is hot", "[models]") {
  Cache c(3, 8, ChunkOrder::kLru);
  for (std::uint32_t id = 0; id < 3; ++id) c.put(id);
  c.get(0);
  c.get(0);
  CHECK(c.told.of(Ingestion::kHot) == Ids{0});
  c.put(3);
  CHECK(c.told.of(Ingestion::kEvicted) == Ids{1, 2});
  Cache fifo(3, 8, ChunkOrder::kFifo);
  for (std::uint32_t id = 0; id < 3; ++id) fifo.put(id);
  fifo.get(0);
  fifo.put(3);
  CHECK(fifo.told.of(Ingestion::kEvicted) == Ids{0, 1});
}

TEST_CASE("AIBrix: buffers are given without eviction while one is free", "[models]") {
  Cache c(4, 4, ChunkOrder::kLru);
  for (std::uint32_t id = 0; id < 3; ++id) c.put(id);
  std::vector<L1Buffer> taken;
  CHECK(c.l1.take(3, taken) == 1);  // the fourth
  CHECK(c.l1.entries() == 3);
  CHECK(c.l1.take(2, taken) == 2);  // none was free: two blocks leave
  CHECK(c.told.of(Ingestion::kEvicted) == Ids{0, 1});
  // A block that is copied leaves without its buffer, so that its neighbour has to leave too.
  const L1Buffer copied = c.l1.get(ChunkId{2});
  CHECK(c.l1.take(1, taken) == 0);
  CHECK_FALSE(c.has(2));
  c.l1.let_go(copied);
  CHECK(c.l1.take(1, taken) == 1);
}

// ---- histories

/// L1, and L2 where it is asked for; no prefix cache in HBM, chunks of four blocks. Links of the
/// GPU move a block in 1 ms, those of L2 in 2 ms.
struct Aibrix {
  Setup setup;
  std::int64_t l1_blocks = 0;
  bool l2 = false;

  Aibrix(std::int64_t blocks, bool with_l2) : l1_blocks(blocks), l2(with_l2) {
    EngineConfig& c = setup.config;
    c.connector = ConnectorKind::kAibrix;
    c.enable_prefix_caching = false;
    c.aibrix.chunk_tokens = 64;
    c.aibrix.skip_blocks = 1;
    c.aibrix.double_get_blocks = 1;
  }
  std::unique_ptr<ChunkedConfig> tiers() const {
    auto out = std::make_unique<ChunkedConfig>();
    const auto lane = [](std::uint32_t link) {
      LaneSpec way;
      way.link = link;
      way.model = make_affine_link(Duration(0), 1000 * kBlock);
      return way;
    };
    out->lanes.down = lane(0);
    out->lanes.up = lane(1);
    ChunkTierConfig host;
    host.capacity = Bytes(l1_blocks * kBlock);
    host.order = ChunkOrder::kLru;
    out->tiers.push_back(host);
    if (!l2) return out;
    ChunkTierConfig remote;
    remote.kind = ChunkTierKind::kRemote;
    remote.port.lanes = true;
    remote.port.lane[index_of(StorageOp::kWrite)] = 0;
    remote.port.lane[index_of(StorageOp::kRead)] = 1;
    remote.port.client.write_link = 2;
    remote.port.client.read_link = 3;
    out->tiers.push_back(remote);
    return out;
  }
  EngineRun run(const std::vector<Row>& rows) const {
    const Workload workload = workload_of(rows, kPerTraceBlock);
    const ChainMap chains(workload, setup.config.block_tokens);
    EngineRun out;
    EventQueue queue;
    NetworkSpec spec;
    for (int way = 0; way < 2; ++way) spec.lanes.push_back({Duration(0), 500 * kBlock, 1});
    Network network(queue, spec, out.journal);
    SharedThings things;
    EngineParts parts = parts_of(setup);
    parts.things = &things;
    parts.chunked = tiers();
    Engine engine(queue, network, chains, std::move(parts), out.journal);
    Arrivals arrivals(queue, workload, {}, engine);
    engine.set_listener(arrivals);
    arrivals.start();
    while (queue.step()) {
    }
    out.stuck = engine.finish_run();
    static_cast<EngineStats&>(out) = engine.stats();
    return out;
  }
};

std::int64_t first_token(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].first_token);
}

const std::vector<Row> kTwice = {{0, 64, 1, {1}}, {100, 64, 1, {1}}};

TEST_CASE("AIBrix: steps wait for stores and loads, and one token is computed", "[models]") {
  // Request 0 computes four blocks, and copies them before its token appears. Request 1 loads all
  // four in 4 ms; of its 64 tokens the last is computed.
  const EngineRun run = Aibrix(8, false).run(kTwice);
  CHECK(first_token(run, 0) == step_ns(64, 64) + 4 * kMs);
  CHECK(first_token(run, 1) == 104 * kMs + step_ns(1, 64));
  CHECK(run.journal.requests[1].cached_tokens[1] == 64);
  CHECK(run.chunk_tiers[0].queries == 8);
  CHECK(run.chunk_tiers[0].hits == 4);
  CHECK(run.chunk_tiers[0].stored == 4);
  CHECK(run.load_stalls == 1);
}

TEST_CASE("AIBrix: short pieces of a prompt are stored, but not looked for", "[models]") {
  Aibrix aibrix(8, false);
  aibrix.setup.config.aibrix.skip_blocks = 5;
  const EngineRun run = aibrix.run(kTwice);
  CHECK(first_token(run, 1) == 100 * kMs + step_ns(64, 64));
  CHECK(run.chunk_tiers[0].queries == 0);
  CHECK(run.chunk_tiers[0].stored == 4);
}

TEST_CASE("AIBrix: the worker waits for each block that goes to L2", "[models]") {
  Aibrix aibrix(2, true);
  aibrix.setup.config.aibrix.ingestion = Ingestion::kAll;
  // Request 0: a copy of 4 ms, then four writes of 2 ms. L1 keeps the last two blocks. Request 1
  // reads all four from L2 in 8 ms. They enter L1 anew, which writes each once more, in 8 ms; then
  // they are copied in 4 ms.
  const EngineRun run = aibrix.run(kTwice);
  CHECK(first_token(run, 0) == step_ns(64, 64) + 12 * kMs);
  CHECK(first_token(run, 1) == 120 * kMs + step_ns(1, 64));
  CHECK(run.journal.requests[1].cached_tokens[1] == 0);
  CHECK(run.journal.requests[1].cached_tokens[2] == 64);
  CHECK(run.chunk_tiers[1].stored == 4);
}

TEST_CASE("AIBrix: what L2 brings too late is computed", "[models]") {
  Aibrix aibrix(2, true);
  aibrix.setup.config.aibrix.ingestion = Ingestion::kAll;
  aibrix.setup.config.aibrix.per_token_timeout_ms = {1, -1};
  // 64 tokens x 0.1 ms are less than the 8 ms of the read. L2 has the blocks: nothing is stored.
  const EngineRun run = aibrix.run(kTwice);
  CHECK(first_token(run, 1) == 106'400'000 + step_ns(64, 64));
  CHECK(run.chunk_tiers[1].lost == 4);
  CHECK(run.journal.requests[1].cached_tokens[2] == 0);
  aibrix.setup.config.aibrix.per_token_timeout_ms = {125, -3};  // 8 ms: just in time
  CHECK(first_token(aibrix.run(kTwice), 1) == 120 * kMs + step_ns(1, 64));
}

TEST_CASE("AIBrix: with a quota the worker goes on, and blocks over it are dropped", "[models]") {
  Aibrix aibrix(8, true);
  aibrix.setup.config.aibrix.ingestion = Ingestion::kAll;
  aibrix.setup.config.aibrix.max_inflight_tokens = 16;  // raised to two chunks, eight blocks
  const EngineRun run = aibrix.run({{0, 256, 1, {1, 2, 3, 4}}});
  // The copies of four chunks take 4 ms each, the writes 2 ms a block. When the last four blocks
  // come, 12 ms after the first, six of twelve are written: two more may go, two are dropped.
  CHECK(first_token(run, 0) == step_ns(256, 256) + 16 * kMs);
  CHECK(run.chunk_tiers[1].stored == 14);
  CHECK(run.chunk_tiers[1].refused == 2);
}

}  // namespace
}  // namespace spillway::test
