// Dynamo's KVBM v2: counts of uses, pools, policies and jobs in small histories of an engine.
#include "models/engine/connectors/kvbm/leaf_order.hpp"
#include "models/engine/connectors/kvbm/slot_pool.hpp"
#include "models/engine/connectors/kvbm/use_counts.hpp"
#include "models/engine/engine_parts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kPerDocument = 64;  // four engine blocks of 16
constexpr std::int64_t kBlockBytes = 16 * 131072;
constexpr std::int64_t kMilli = 1'000'000;

/// 1 ms a block behind `latency`.
AttachedWay block_way(std::uint32_t link, Duration latency) {
  return {link, make_affine_link(latency, 1000 * kBlockBytes), latency, Bytes(kBlockBytes), 1};
}

/// A way each to and from each tier, no prefix cache in HBM.
struct KvbmV2 {
  Setup setup;
  std::vector<std::uint64_t> slots;
  Duration latency{0};

  explicit KvbmV2(std::vector<std::uint64_t> tiers) : slots(std::move(tiers)) {
    setup.config.connector = ConnectorKind::kKvbm;
    setup.config.kvbm = kvbm_v2();
    setup.config.enable_prefix_caching = false;
  }
  KvbmConfig& rules() { return setup.config.kvbm; }
  EngineRun run(const std::vector<Row>& rows) const {
    const Workload workload = workload_of(rows, kPerDocument);
    EngineParts parts = parts_of(setup);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto link = static_cast<std::uint32_t>(2 * i);
      parts.attached.push_back(
          {slots[i], i == 1, block_way(link, latency), block_way(link + 1, latency)});
    }
    return run_parts(workload, std::move(parts));
  }
};

/// A pool of so many slots that holds blocks 0, 1, ... in this order of rest.
struct FullPool {
  UseCounts uses{1000};
  Parents parents;
  SlotPool pool;

  FullPool(const KvbmConfig& config, std::uint32_t slots) : pool(slots, config, uses, parents) {
    for (std::uint32_t i = 0; i < slots; ++i) parents.push_back(kNoBlock);
  }
  void fill(std::initializer_list<std::uint32_t> blocks) {
    for (const std::uint32_t block : blocks) pool.register_block(pool.take(), BlockId{block});
  }
  /// Which block leaves next.
  std::uint32_t victim(std::uint32_t blocks) {
    std::vector<bool> had(blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) had[i] = pool.has(BlockId{i});
    pool.take();
    for (std::uint32_t i = 0; i < blocks; ++i) {
      if (had[i] && !pool.has(BlockId{i})) return i;
    }
    return blocks;
  }
  std::vector<std::uint32_t> victims(std::uint32_t blocks) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < blocks; ++i) out.push_back(victim(blocks));
    return out;
  }
};

KvbmConfig with_pool(InactivePool pool) {
  KvbmConfig out = kvbm_v2();
  out.inactive = pool;
  return out;
}

// ---- parts

TEST_CASE("KVBM v2: counts end at 15, and all are halved after ten times the entries", "[models]") {
  UseCounts many(1000);
  for (int i = 0; i < 20; ++i) many.use(BlockId{3});
  CHECK(many.count(BlockId{3}) == 15);
  CHECK(many.count(BlockId{9}) == 0);
  // Ten uses: 4, 5 and 1 become 2, 2 and 0. Two were odd: 10 / 2 - 2 = 3 uses are remembered.
  UseCounts few(1);
  const auto use = [&](std::uint32_t block, int times) {
    for (int i = 0; i < times; ++i) few.use(BlockId{block});
  };
  use(0, 4);
  use(1, 5);
  use(2, 1);
  CHECK(few.count(BlockId{0}) == 2);
  CHECK(few.count(BlockId{1}) == 2);
  CHECK(few.count(BlockId{2}) == 0);
  // So the seventh further one halves them again: 2 + 6 = 8, with the seventh 9, become 4.
  use(0, 6);
  CHECK(few.count(BlockId{0}) == 8);
  use(0, 1);
  CHECK(few.count(BlockId{0}) == 4);
  CHECK(few.count(BlockId{1}) == 1);
}

TEST_CASE("KVBM v2: the lineage pool gives up the ends of chains first", "[models]") {
  // Chain 0, 1, 2 rests in this order, then block 3, alone. The oldest leaf is 2, then 1 and 0, as
  // they have rested longer than 3.
  FullPool chain(with_pool(InactivePool::kLineage), 4);
  chain.parents[1] = BlockId{0};
  chain.parents[2] = BlockId{1};
  chain.fill({0, 1, 2, 3});
  CHECK(chain.victims(4) == std::vector<std::uint32_t>{2, 1, 0, 3});
}

TEST_CASE("KVBM v2: in the lineage pool a block in use protects what lies before it", "[models]") {
  // 1 is read while 2 rests: 0 stays behind 2. Returned, it is younger than 3.
  FullPool chain(with_pool(InactivePool::kLineage), 4);
  chain.parents[1] = BlockId{0};
  chain.parents[2] = BlockId{1};
  chain.fill({0, 1, 2, 3});
  chain.pool.pin(chain.pool.find(BlockId{1}));
  CHECK(chain.victim(4) == 2);
  CHECK(chain.victim(4) == 0);  // 1 has no children and does not rest
  chain.pool.unpin(chain.pool.find(BlockId{1}));
  CHECK(chain.victim(4) == 3);
  CHECK(chain.victim(4) == 1);
  // 1 never rested here: nothing tells that 0 lies before 2.
  FullPool gap(with_pool(InactivePool::kLineage), 3);
  gap.parents[1] = BlockId{0};
  gap.parents[2] = BlockId{1};
  gap.fill({0, 2});
  gap.pool.take();
  CHECK(gap.victim(3) == 0);
}

TEST_CASE("KVBM v2: many rests of one block do not hide another leaf", "[models]") {
  FullPool pool(with_pool(InactivePool::kLineage), 2);
  pool.fill({0, 1});
  for (int i = 0; i < 500; ++i) pool.pool.touch(pool.pool.find(BlockId{0}));
  CHECK(pool.victim(2) == 1);
  CHECK(pool.victim(2) == 0);
}

TEST_CASE("KVBM v2: the multi-LRU pool gives up blocks of few uses first", "[models]") {
  KvbmConfig config = with_pool(InactivePool::kMultiLru);
  config.levels = {1, 2, 3};
  FullPool pool(config, 5);
  const int uses[] = {0, 3, 2, 1, 0};  // levels 0, 3, 2, 1, 0
  for (std::uint32_t i = 0; i < 5; ++i) {
    for (int k = 0; k < uses[i]; ++k) pool.uses.use(BlockId{i});
  }
  pool.fill({0, 1, 2, 3, 4});
  // What is used at rest keeps its level; what rests anew has another one.
  for (int k = 0; k < 9; ++k) pool.uses.use(BlockId{0});
  pool.uses.use(BlockId{4});
  pool.pool.touch(pool.pool.find(BlockId{4}));
  CHECK(pool.victims(5) == std::vector<std::uint32_t>{0, 3, 4, 2, 1});
}

// ---- histories

TEST_CASE("KVBM v2: a copy is one transfer, and what host memory has is not copied again",
          "[models]") {
  // Request 0 computes 20 blocks: 1 ms of latency and 20 ms. Request 1 loads 19 of them at once,
  // and computes the last one, which is there.
  KvbmV2 kvbm({32});
  kvbm.latency = milliseconds(1);
  const EngineRun run = kvbm.run({{0, 320, 1, {1, 2, 3, 4, 5}}, {100, 320, 1, {1, 2, 3, 4, 5}}});
  const std::int64_t s = step_ns(320, 320);
  CHECK(ends_of(run, 0) == std::vector{s + 21 * kMilli});
  CHECK(ends_of(run, 1) == std::vector{120 * kMilli});
  CHECK(run.journal.requests[1].cached_tokens[1] == 19 * 16);
  CHECK(stored_in(run, 1) == 20);
}

TEST_CASE("KVBM v2: pass_all copies what is there, too", "[models]") {
  KvbmV2 kvbm({8});
  kvbm.rules().host = {false, false};
  const EngineRun run = kvbm.run({{0, 64, 1, {1}}, {100, 64, 1, {1}}});
  CHECK(ends_of(run, 0) ==
        std::vector{step_ns(64, 64) + 4 * kMilli, 103 * kMilli + step_ns(16, 64) + kMilli});
  CHECK(stored_in(run, 1) == 4);
}

TEST_CASE("KVBM v2: two requests of one step copy a block that both compute once", "[models]") {
  // Both are scheduled at 0, and both offer the four blocks: the second finds them pending.
  const EngineRun run = KvbmV2({8}).run({{0, 64, 1, {1}}, {0, 64, 1, {1}}});
  CHECK(ends_of(run, 0) == std::vector{step_ns(128, 128) + 4 * kMilli});
}

TEST_CASE("KVBM v2: a job takes its slots as it begins, by the rule of the pool", "[models]") {
  // Host memory has three slots, and jobs have three blocks at most: the fourth block takes the
  // slot of block 2, the chain's end, or of block 0, which has rested longest.
  KvbmV2 kvbm({3});
  kvbm.rules().max_batch = 3;
  const std::vector<Row> rows = {{0, 64, 1, {1}}, {100, 64, 1, {1}}};
  const EngineRun lineage = kvbm.run(rows);
  const std::int64_t s = step_ns(64, 64);
  CHECK(ends_of(lineage, 0)[0] == s + 3 * kMilli);
  CHECK(ends_of(lineage, 0)[1] == s + 4 * kMilli);
  CHECK(lineage.journal.requests[1].cached_tokens[1] == 32);
  kvbm.rules().inactive = InactivePool::kLru;
  CHECK(kvbm.run(rows).journal.requests[1].cached_tokens[1] == 0);
  // One job of four blocks finds no room.
  kvbm.rules().max_batch = 64;
  const EngineRun dropped = kvbm.run(rows);
  CHECK(dropped.chunk_tiers[0].refused == 4 + 4);
  CHECK(dropped.journal.transfers.empty());
}

TEST_CASE("KVBM v2: the disk gets what was used often, when it is copied down again", "[models]") {
  // Each first copy is a use. Request 1 uses three blocks again; request 2 pushes all out; at the
  // copy of request 3 they have 3, 3, 3 and 2 uses, more than 1. The disk's job follows it.
  KvbmV2 kvbm({4, 8});
  kvbm.rules().min_uses = 1;
  kvbm.rules().inactive = InactivePool::kLru;
  const std::vector<Row> rows = {
      {0, 64, 1, {1}}, {100, 64, 1, {1}}, {200, 64, 1, {2}}, {300, 64, 1, {1}}};
  const EngineRun run = kvbm.run(rows);
  CHECK(ends_of(run, 2) == std::vector{300 * kMilli + step_ns(64, 64) + 8 * kMilli});
  CHECK(run.chunk_tiers[1].filtered == 4 + 4);
  CHECK(stored_in(run, 2) == 4);
  // Above 2 the last block stays away.
  kvbm.rules().min_uses = 2;
  CHECK(stored_in(kvbm.run(rows), 2) == 3);
}

TEST_CASE("KVBM v2: jobs of the disk follow one another", "[models]") {
  // Jobs of three and one: copied at 3 and 4 ms, written at 6 and 7 ms.
  KvbmV2 kvbm({8, 8});
  kvbm.rules().max_batch = 3;
  kvbm.rules().disk = {true, false};
  const EngineRun run = kvbm.run({{0, 64, 1, {1}}});
  const std::int64_t s = step_ns(64, 64);
  CHECK(ends_of(run, 2) == std::vector{s + 6 * kMilli, s + 7 * kMilli});
  // A disk of two slots has no room for the first job.
  kvbm.slots = {8, 2};
  const EngineRun small = kvbm.run({{0, 64, 1, {1}}});
  CHECK(small.chunk_tiers[1].refused == 3);
  CHECK(ends_of(small, 2) == std::vector{s + 5 * kMilli});
}

TEST_CASE("KVBM v2: a job of the disk leaves out what host memory has lost", "[models]") {
  // Host memory has four slots. Request 0's jobs of two blocks are copied at 2 and 4 ms; the first
  // is written from 2 to 22 ms, ten times as slowly. Meanwhile request 1 takes the slots of the
  // second one: its two blocks are gone at 22 ms.
  KvbmV2 kvbm({4, 16});
  kvbm.rules().max_batch = 2;
  kvbm.rules().disk = {true, false};
  kvbm.rules().inactive = InactivePool::kLru;
  const Workload workload = workload_of({{0, 64, 1, {1}}, {10, 32, 1, {}}}, kPerDocument);
  EngineParts parts = parts_of(kvbm.setup);
  parts.attached.push_back({4, false, block_way(0, Duration(0)), block_way(1, Duration(0))});
  AttachedWay slow = {2, make_affine_link(Duration(0), 100 * kBlockBytes), Duration(0),
                      Bytes(kBlockBytes), 1};
  parts.attached.push_back({16, true, std::move(slow), block_way(3, Duration(0))});
  const EngineRun run = run_parts(workload, std::move(parts));
  const std::int64_t s = step_ns(64, 64);
  // Then those of request 1, copied meanwhile, from 22 to 42 ms.
  CHECK(ends_of(run, 2) == std::vector{s + 22 * kMilli, s + 42 * kMilli});
  CHECK(stored_in(run, 2) == 4);
  CHECK(stored_in(run, 1) == 6);
}

}  // namespace
}  // namespace spillway::test
