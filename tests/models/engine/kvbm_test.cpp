// Dynamo's KVBM: slots, the disk filter, batches of a hop, and small histories of an engine. Whole
// histories against the oracle are in tests/oracle (part kvbm).
#include "models/engine/connectors/kvbm/disk_filter.hpp"
#include "models/engine/connectors/kvbm/slot_pool.hpp"
#include "models/engine/connectors/kvbm/window_link.hpp"
#include "models/engine/engine_parts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kPerTraceBlock = 64;  // four engine blocks of 16
constexpr std::int64_t kBlock = 16 * 131072;
constexpr std::int64_t kMs = 1'000'000;

/// 1 ms a block behind `latency`.
AttachedWay way(std::uint32_t link, Duration latency = Duration(0)) {
  return {link, make_affine_link(latency, 1000 * kBlock), latency, Bytes(kBlock), 1};
}

/// A block way each to and from each tier, no prefix cache in HBM.
struct Kvbm {
  Setup setup;
  std::vector<std::uint64_t> slots;

  explicit Kvbm(std::vector<std::uint64_t> tiers) : slots(std::move(tiers)) {
    setup.config.connector = ConnectorKind::kKvbm;
    setup.config.enable_prefix_caching = false;
  }
  EngineRun run(const std::vector<Row>& rows) const {
    const Workload workload = workload_of(rows, kPerTraceBlock);
    EngineParts parts = parts_of(setup);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto link = static_cast<std::uint32_t>(2 * i);
      parts.attached.push_back(
          {slots[i], i == 1 && setup.config.kvbm.filter, way(link), way(link + 1)});
    }
    return run_parts(workload, std::move(parts));
  }
};

// ---- parts

TEST_CASE("KVBM: a slot is taken empty first, then from the block that rests longest", "[models]") {
  SlotPool pool(3);
  SlotId slots[3];
  for (std::uint32_t i = 0; i < 3; ++i) slots[i] = pool.take();
  CHECK_FALSE(pool.can_take(1));
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(pool.register_block(slots[i], BlockId{i}));
  // Block 0 is read and returns: it is the youngest. 1 leaves for the next block, then 2.
  pool.pin(slots[0]);
  CHECK_FALSE(pool.can_take(3));
  pool.unpin(slots[0]);
  CHECK(pool.register_block(pool.take(), BlockId{7}));
  CHECK(pool.find(BlockId{1}) == kNoSlot);
  CHECK(pool.register_block(pool.take(), BlockId{8}));
  CHECK(pool.find(BlockId{2}) == kNoSlot);
  CHECK(pool.has(BlockId{0}));
  CHECK(pool.stored() == 5);
  CHECK(pool.evicted() == 2);
  pool.check_drained();
}

TEST_CASE("KVBM: a block that is there is registered by emptying the new slot", "[models]") {
  SlotPool pool(3);
  const SlotId first = pool.take();
  const SlotId second = pool.take();
  pool.register_block(first, BlockId{0});
  pool.register_block(second, BlockId{1});
  CHECK(pool.register_block(pool.take(), BlockId{0}));  // the youngest now
  CHECK(pool.find(BlockId{0}) == first);
  CHECK(pool.resident() == 2);
  pool.pin(first);
  CHECK_FALSE(pool.register_block(pool.take(), BlockId{0}));
  pool.unpin(first);
  pool.take();  // the one that is empty
  pool.take();
  CHECK(pool.find(BlockId{1}) == kNoSlot);
  CHECK(pool.has(BlockId{0}));
}

TEST_CASE("KVBM: sightings double a count, periods take 1 from it", "[models]") {
  KvbmConfig config;
  config.filter_min = 4;
  config.filter_decay = seconds(10);
  DiskFilter filter(config);
  CHECK_FALSE(filter.sight(BlockId{0}, Time(seconds(1))));   // 1
  CHECK_FALSE(filter.sight(BlockId{0}, Time(seconds(9))));   // 2
  CHECK_FALSE(filter.sight(BlockId{0}, Time(seconds(10))));  // 2 - 1, doubled: the period first
  CHECK(filter.sight(BlockId{0}, Time(seconds(11))));        // 4
  CHECK_FALSE(filter.sight(BlockId{1}, Time(seconds(50))));  // four periods later
  CHECK(filter.entries() == 1);
  CHECK_FALSE(filter.sight(BlockId{0}, Time(seconds(50))));
}

TEST_CASE("KVBM: beyond its limit the filter forgets, and a new period begins", "[models]") {
  KvbmConfig config;
  config.filter_decay = seconds(10);
  config.filter_entries = 2;
  DiskFilter filter(config);
  for (int i = 0; i < 3; ++i) filter.sight(BlockId{0}, Time(seconds(1)));  // 4
  for (int i = 0; i < 2; ++i) filter.sight(BlockId{1}, Time(seconds(1)));  // 2
  // A third one: 4, 2, 1 become 3, 1, and it is forgotten.
  CHECK_FALSE(filter.sight(BlockId{2}, Time(seconds(8))));
  CHECK(filter.entries() == 2);
  // The next period ends at 18 s, not at 10 s.
  CHECK(filter.sight(BlockId{1}, Time(seconds(17))));  // 1, doubled
  // 3 and 2 become 2 and 1; the third one's 1 is again one entry too many: 1 is left.
  CHECK_FALSE(filter.sight(BlockId{2}, Time(seconds(18))));
  CHECK(filter.entries() == 1);
}

TEST_CASE("KVBM: batches of a hop overlap in their latency only", "[models]") {
  KvbmConfig config;
  config.max_batch = 2;
  std::vector<TransferRecord> batches;
  const auto ends = [&](std::uint32_t window) {
    config.max_transfers = window;
    WindowLink link(way(0, milliseconds(1)), config);
    link.submit(6, Time(Duration(0)), batches);
    std::vector<std::int64_t> out;
    for (const TransferRecord& t : batches) out.push_back(nanoseconds_of(t.ended));
    return out;
  };
  // 1 ms and 2 ms each. With two under way the third begins at 3 ms, and its bytes wait until 5 ms.
  CHECK(ends(1) == std::vector{3 * kMs, 6 * kMs, 9 * kMs});
  CHECK(ends(2) == std::vector{3 * kMs, 5 * kMs, 7 * kMs});
  CHECK(batches[1].started == batches[0].ended);
}

// ---- histories

TEST_CASE("KVBM: an aligned prompt that host memory has computes its last block again",
          "[models]") {
  // Request 0 computes four blocks, copied in 4 ms from its step's end. Request 1 loads three of
  // them in 3 ms and computes 16 tokens.
  const EngineRun run = Kvbm({8}).run({{0, 64, 1, {1}}, {100, 64, 1, {1}}});
  const std::int64_t s = step_ns(64, 64);
  CHECK(ends_of(run, 0) == std::vector{s + 4 * kMs, 103 * kMs + step_ns(16, 64) + kMs});
  CHECK(ends_of(run, 1) == std::vector{103 * kMs});
  const RequestRecord& last = run.journal.requests[1];
  CHECK(last.cached_tokens[1] == 48);
  CHECK(nanoseconds_of(last.first_token) == 103 * kMs + step_ns(16, 64));
  CHECK(run.chunk_tiers[0].queries == 4 + 4);
  CHECK(run.chunk_tiers[0].hits == 3);
  CHECK(stored_in(run, 1) == 4);  // the last block was there, and its second copy found it
}

TEST_CASE("KVBM: a copy-down that lacks one slot is dropped whole", "[models]") {
  const EngineRun run = Kvbm({3}).run({{0, 64, 1, {1}}, {100, 64, 1, {1}}});
  CHECK(run.chunk_tiers[0].refused == 4 + 4);
  CHECK(stored_in(run, 1) == 0);
  CHECK(run.journal.transfers.empty());
}

TEST_CASE("KVBM: a finished request keeps its blocks until its copies have ended", "[models]") {
  // HBM has five blocks. Request 1 needs four; request 0 holds as many until its copies end, 4 ms
  // after its only step.
  Kvbm kvbm({8});
  kvbm.setup.config.num_gpu_blocks = 6;
  const EngineRun run = kvbm.run({{0, 64, 1, {1}}, {0, 64, 1, {2}}});
  const std::int64_t s = step_ns(64, 64);
  CHECK(nanoseconds_of(run.journal.requests[0].finish) == s);
  CHECK(nanoseconds_of(run.journal.requests[1].first_token) == s + 4 * kMs + s);
}

TEST_CASE("KVBM: a block goes to disk at its second copy-down", "[models]") {
  // The last of four blocks is computed twice. Request 2 finds all in host memory again.
  const std::vector<Row> rows = {{0, 64, 1, {1}}, {100, 64, 1, {1}}};
  Kvbm kvbm({8, 8});
  const EngineRun run = kvbm.run(rows);
  CHECK(run.chunk_tiers[1].filtered == 4);
  CHECK(stored_in(run, 2) == 1);
  CHECK(ends_of(run, 2) == std::vector{103 * kMs + step_ns(16, 64) + 2 * kMs});
  // Without the filter all four go, one after another behind the copy-down.
  kvbm.setup.config.kvbm.filter = false;
  const EngineRun all = kvbm.run(rows);
  CHECK(stored_in(all, 2) == 4);
  const std::int64_t copied = step_ns(64, 64) + 4 * kMs;
  CHECK(ends_of(all, 2) ==
        std::vector{copied + kMs, copied + 2 * kMs, copied + 3 * kMs, copied + 4 * kMs});
}

TEST_CASE("KVBM: what host memory lost is read from the disk, straight into HBM", "[models]") {
  // Host memory has four slots: the blocks of request 1 take those of request 0, which the disk
  // keeps. Request 2 loads three of them over the disk's link.
  Kvbm kvbm({4, 16});
  kvbm.setup.config.kvbm.filter = false;
  const EngineRun run = kvbm.run({{0, 64, 1, {1}}, {100, 64, 1, {2}}, {200, 64, 1, {1}}});
  const RequestRecord& last = run.journal.requests[2];
  CHECK(last.cached_tokens[1] == 0);
  CHECK(last.cached_tokens[2] == 48);
  CHECK(ends_of(run, 3) == std::vector{203 * kMs});
  CHECK(ends_of(run, 1).empty());
  CHECK(nanoseconds_of(last.first_token) == 203 * kMs + step_ns(16, 64));
}

}  // namespace
}  // namespace spillway::test
