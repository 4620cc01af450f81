// llm-d's FS backend and its evictor: threads, dropped writes, files that are gone, access times.
// Whole histories are in tests/oracle/cases/llmd-*.
#include "models/engine/connectors/llmd/file_store.hpp"

#include "models/engine/engine_parts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::uint32_t kPerTraceBlock = 64;  // four engine blocks of 16, two files of 32
constexpr std::int64_t kFile = 2 * 16 * 131072;
constexpr std::int64_t kMs = 1'000'000;

/// Files of two blocks that take 1 ms either way; nothing is kept in HBM.
struct Files {
  Setup setup;
  ChunkTierConfig tier;

  explicit Files(std::uint32_t threads) {
    EngineConfig& c = setup.config;
    c.connector = ConnectorKind::kLlmdFs;
    c.blocks_per_chunk = 2;
    c.enable_prefix_caching = false;
    c.llmd.block_size = 32;
    c.llmd.threads = threads;
    tier.kind = ChunkTierKind::kFiles;
    tier.port.lanes = true;
    tier.port.lane[index_of(StorageOp::kWrite)] = 0;
    tier.port.lane[index_of(StorageOp::kRead)] = 1;
    tier.port.client.write_link = 0;
    tier.port.client.read_link = 1;
  }
  /// It deletes whatever is there.
  void evict_every(Duration interval) {
    tier.capacity = Bytes(100 * kFile);
    tier.evicts = true;
    tier.evictor = {interval, 1, 0, Duration(0), 0, 100, 100};
  }
  EngineRun run(const std::vector<Row>& rows) const {
    const Workload workload = workload_of(rows, kPerTraceBlock);
    NetworkSpec spec;
    for (int way = 0; way < 2; ++way) spec.lanes.push_back({Duration(0), 1000 * kFile, 1 << 20});
    SharedThings things;
    EngineParts parts = parts_of(setup);
    parts.things = &things;
    parts.chunked = std::make_unique<ChunkedConfig>();
    parts.chunked->tiers.push_back(tier);
    return run_parts(workload, std::move(parts), spec);
  }
};

TEST_CASE("llm-d: each thread moves a file at a time", "[models]") {
  // 128 tokens are four files, written once the step has computed: two at a time, 1 ms each.
  const EngineRun run = Files(2).run({{0, 128, 1, {1, 2}}});
  const std::int64_t s = step_ns(128, 128);
  CHECK(ends_of(run, 0) == std::vector{s + kMs, s + kMs, s + 2 * kMs, s + 2 * kMs});
  CHECK(run.chunk_tiers[0].stored == 4);
  CHECK(run.chunk_tiers[0].peak_bytes == 4 * kFile);
}

TEST_CASE("llm-d: files are read back, and stored only once", "[models]") {
  // Request 1 finds both files of 64 tokens, reads them at once and computes its last token.
  const EngineRun run = Files(2).run({{0, 65, 1, {1, 2}}, {100, 65, 1, {1, 2}}});
  CHECK(ends_of(run, 1) == std::vector{101 * kMs, 101 * kMs});
  const RequestRecord& last = run.journal.requests[1];
  CHECK(last.cached_tokens[1] == 64);
  CHECK(nanoseconds_of(last.first_token) == 101 * kMs + step_ns(1, 65));
  CHECK(run.chunk_tiers[0].stored == 2);
  CHECK(run.chunk_tiers[0].queries == 2 + 2);
  CHECK(run.chunk_tiers[0].hits == 2);
}

TEST_CASE("llm-d: writes that would wait too long are dropped", "[models]") {
  // One thread, 1 ms a write, at most 2 ms in line: 2 files. Request 0's only file is the sample.
  // Of request 1's five, one is begun, two wait, two are dropped.
  Files files(1);
  files.setup.config.llmd.max_write_queued_us = 2000;
  const EngineRun run = files.run({{0, 32, 1, {1}}, {100, 160, 1, {2, 3, 4}}});
  CHECK(run.chunk_tiers[0].stored == 1 + 3);
  CHECK(run.chunk_tiers[0].refused == 2);
}

TEST_CASE("llm-d: a write that does not fit fails at its end", "[models]") {
  // Room for three files of four: all are written, the last one in vain.
  Files files(1);
  files.tier.capacity = Bytes(3 * kFile + kFile / 2);
  const EngineRun run = files.run({{0, 128, 1, {1, 2}}});
  CHECK(ends_of(run, 0).size() == 4);
  CHECK(run.chunk_tiers[0].stored == 3);
  CHECK(run.chunk_tiers[0].refused == 1);
}

TEST_CASE("llm-d: nobody notices that a file is gone before its read", "[models]") {
  // Request 1 asks for two files at 95 ms, 10 ms each, and is answered at 115 ms. The tick at
  // 100 ms deletes both. It goes on as if it had read them, at once.
  Files files(2);
  files.evict_every(milliseconds(100));
  files.tier.lookup = milliseconds(10);
  files.setup.config.llmd.async_lookup = true;
  const EngineRun run = files.run({{0, 65, 1, {1, 2}}, {95, 65, 1, {1, 2}}});
  const RequestRecord& last = run.journal.requests[1];
  CHECK(nanoseconds_of(last.scheduled) == 115 * kMs);
  CHECK(nanoseconds_of(last.first_token) == 115 * kMs + step_ns(1, 65));
  CHECK(last.cached_tokens[1] == 64);
  CHECK(ends_of(run, 1).empty());
  CHECK(run.chunk_tiers[0].missing_reads == 2);
  CHECK(run.chunk_tiers[0].evicted == 2);
  CHECK(run.chunk_tiers[0].ticks == 1);
}

TEST_CASE("llm-d: where all is young, the evictor is on and deletes nothing", "[models]") {
  // Ticks at 100, 200 and 300 ms; the last request ends after 310 ms.
  Files files(2);
  files.evict_every(milliseconds(100));
  files.tier.evictor.access = minutes(60);
  const EngineRun run = files.run({{0, 64, 1, {1}}, {310, 64, 1, {2}}});
  CHECK(run.chunk_tiers[0].ticks == 3);
  CHECK(run.chunk_tiers[0].idle_ticks == 3);
  CHECK(run.chunk_tiers[0].evicted == 0);
}

/// When a file that is written at 0 and read after 30 and 54 minutes is deleted, in half hours:
/// an hour after it was read, as the file system tells.
int deleted_at(AtimeRule rule) {
  const Workload workload = workload_of({{0, 64, 1, {1}}}, kPerTraceBlock);
  const ChainMap chains(workload, 16);
  ChunkTierConfig tier;
  tier.capacity = Bytes(10);
  tier.atime = rule;
  tier.evicts = true;
  tier.evictor = {minutes(30), 1, 0, hours(1), 0, 10, 10};
  FileStore store(tier, chains, Bytes(1), 1);
  const auto at = [](int m) { return Time() + minutes(m); };
  store.write(ChunkId{1}, at(0));
  store.tick_until(at(29));
  store.read(ChunkId{1}, at(30));
  store.tick_until(at(54));
  store.read(ChunkId{1}, at(54));
  int half_hours = 1;
  for (; store.has(ChunkId{1}); ++half_hours) store.tick_until(at(30 * (half_hours + 1)));
  return half_hours;
}

TEST_CASE("llm-d: the evictor goes by access times as the mount keeps them", "[models]") {
  CHECK(deleted_at(AtimeRule::kNone) == 2);      // 0 + 60 min
  CHECK(deleted_at(AtimeRule::kRelatime) == 3);  // 30 + 60: that read told something new
  CHECK(deleted_at(AtimeRule::kStrict) == 4);    // 54 + 60 min, seen at 120
}

TEST_CASE("llm-d: the evictor walks files by name", "[models]") {
  // Trace blocks 0 and 1 have blocks 0 to 3 and 4 to 7; 144 tokens leave request 1 one of its own.
  // splitmix64 of 0, of 1 * 2^12 + 3, and of 2^60 + 1 * 2^24 + 8.
  const Workload workload = workload_of({{0, 64, 1, {7}}, {1, 128, 16, {7, 9}}}, kPerTraceBlock);
  const ChainMap chains(workload, 16);
  CHECK(file_name(chains, ChunkId{0}) == 0xe220a8397b1dcdafULL);
  CHECK(file_name(chains, ChunkId{7}) == 0x73d95c4abb1f2057ULL);
  const std::uint32_t own = chains.base(RequestId{1});
  CHECK(file_name(chains, ChunkId{own}) == 0xa230f7599f6f7105ULL);
}

}  // namespace
}  // namespace spillway::test
