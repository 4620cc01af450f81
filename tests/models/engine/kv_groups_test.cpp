// How a model's layers divide into KV cache groups, what that saves, and engines with such pools.
#include "models/releases/kv_groups.hpp"

#include "models/engine/stores/grouped_blocks.hpp"
#include "models/kv_geometry.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

KvGroups groups_of(std::string_view model) {
  return kv_groups_of(find_model(model, {}));
}

TEST_CASE("layers divide into groups as large as the rarer kind", "[models]") {
  // gpt-oss-20b: 12 sliding and 12 full layers; Gemma-3-27B: 52 and 10, six groups of sliding ones
  // with 8 layers of padding; Gemma-3-4B: 29 and 5.
  const KvGroups oss = groups_of("gpt-oss-20b");
  CHECK(oss.sliding == 1);
  CHECK(oss.full == 1);
  CHECK(oss.layers == 12);
  CHECK(oss.window == 128);
  const KvGroups gemma = groups_of("gemma-3-27b");
  CHECK(gemma.sliding == 6);
  CHECK(gemma.full == 1);
  CHECK(gemma.layers == 10);
  const KvGroups small = groups_of("gemma-3-4b");
  CHECK(small.sliding == 6);
  CHECK(small.layers == 5);
  const KvGroups plain = groups_of("llama3.1-8b");
  CHECK(plain.count() == 1);
  CHECK_FALSE(plain.hybrid());
}

TEST_CASE("kinds of nearly as many layers share the larger number", "[models]") {
  // vLLM's own example: 12 sliding and 13 full layers are padded to 13 and 13, not to 12 and 24.
  ModelSpec m = find_model("gpt-oss-20b", {});
  m.kv_layers = 25;
  const KvGroups g = kv_groups_of(m);
  CHECK(g.layers == 13);
  CHECK(g.count() == 2);
  m.kv_layers = 30;  // 12 and 18: half as many again, so that 12 it is, the last 6 of 24 padding
  CHECK(kv_groups_of(m).layers == 12);
  CHECK(kv_groups_of(m).full == 2);
}

/// Pages that a decode at `tokens` tokens holds, and what they are less than all layers in full.
struct Held {
  std::int64_t pages;
  std::int64_t bytes;
  std::int64_t in_full;
};
Held held_at(std::string_view name, std::uint32_t tokens) {
  const ModelSpec& model = find_model(name, {});
  const KvGroups g = kv_groups_of(model);
  const std::int64_t per_token = kv_bytes_per_token(model, KvDtype::kBf16).count();
  const std::int64_t page = per_token / model.kv_layers * g.layers * 16;
  const std::int64_t pages =
      g.full * (tokens / 16) + g.sliding * (tokens / 16 - g.skipped(tokens - 1, 16));
  return {pages, pages * page, per_token * tokens};
}

TEST_CASE("bytes of a sequence of 32,768 tokens with and without groups", "[models]") {
  // gpt-oss-20b: a page is 12 layers x 1,024 elements x 2 bytes x 16 tokens = 393,216 bytes. The
  // last token reads back to token 32,767 - 127 = 32,640 = 16 x 2,040: 8 of 2,048 sliding blocks.
  const Held oss = held_at("gpt-oss-20b", 32768);
  CHECK(oss.pages == 2048 + 8);
  CHECK(oss.bytes == 2056 * 393'216LL);
  CHECK(oss.in_full == 2 * 2048 * 393'216LL);
  // Gemma-3-27B: 10 layers x 4,096 x 2 x 16 = 1,310,720 bytes. Back to 32,767 - 1,023 = 31,744 =
  // 16 x 1,984: 64 blocks in each of six groups. In full, 62 layers hold 6.2 pages a block.
  const Held gemma = held_at("gemma-3-27b", 32768);
  CHECK(gemma.pages == 2048 + 6 * 64);
  CHECK(gemma.bytes == 2432 * 1'310'720LL);
  CHECK(gemma.in_full == 62 * 4096 * 2 * 32768LL);
  CHECK(gemma.in_full > 5 * gemma.bytes);
}

// ---- engines

Setup hybrid(std::uint32_t pages) {
  Setup s;
  s.config.groups = {1, 1, 128, 12};
  s.config.hybrid_kv_cache = true;
  s.config.num_gpu_blocks = pages + 1;
  return s;
}

std::uint32_t peak_of(const EngineRun& run) {
  std::uint32_t peak = 0;
  for (const TierChange& c : run.journal.tier_changes) {
    if (c.tier == 0) peak = std::max(peak, c.used);
  }
  return peak;
}

std::vector<std::uint64_t> ids(std::uint64_t first, std::uint32_t count) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(first + i);
  return out;
}

TEST_CASE("a long prompt runs in a pool that full attention would not fit", "[models]") {
  // 16,384 tokens are 1,024 blocks: 2,048 pages in full. With groups the sliding ones hold at most
  // 127 + 2,048 tokens, and chunks begin at multiples of 16: 8 + 128 blocks in the last chunk.
  const Workload w = workload_of({{0, 16384, 8, ids(0, 1024)}}, 16);
  const EngineRun run = run_engine(w, hybrid(1200));
  REQUIRE(run.journal.requests[0].status == RequestStatus::kCompleted);
  CHECK(peak_of(run) == 1024 + 8 + 128);
  // One group of the same pages refuses it: ceil((16,384 + 7) / 16) = 1,025 blocks of two pages.
  Setup plain = hybrid(1200);
  plain.config.groups = KvGroups{};
  plain.config.num_gpu_blocks = 601;
  CHECK(run_engine(w, plain).journal.requests[0].status == RequestStatus::kRejected);
}

TEST_CASE("a request beyond the bound is rejected, one below it runs", "[models]") {
  // P + O - 1 = 3,200 tokens: 200 blocks, and of the sliding group ceil((127 + 2,048) / 16) + 1 =
  // 137. A pool of 337 pages takes it, one of 336 does not.
  const Workload w = workload_of({{0, 3193, 8, ids(0, 199)}}, 16);
  CHECK(run_engine(w, hybrid(337)).journal.requests[0].status == RequestStatus::kCompleted);
  CHECK(run_engine(w, hybrid(336)).journal.requests[0].status == RequestStatus::kRejected);
}

TEST_CASE("a second turn finds its prefix while the last window of it is cached", "[models]") {
  // 2,048 + 64 tokens, then the same with 512 more after a while: 132 blocks are full, 131 of them
  // known to both prompts' chains, and HBM holds all.
  const Workload w = workload_of({{0, 2048, 65, ids(0, 128)}, {9000, 2560, 2, ids(0, 160)}}, 16);
  const EngineRun run = run_engine(w, hybrid(2000));
  CHECK(run.journal.requests[1].cached_tokens[0] == 2048);
  CHECK(run.stuck == 0);
}

TEST_CASE("preempted requests run again and nothing leaks", "[models]") {
  // Six prompts of 40 blocks grow by 25 in a pool that holds four at their full length: the last
  // ones are preempted. run_engine checks that every page has returned.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 6; ++i) rows.push_back({0, 640, 400, ids(100 * i, 40)});
  for (const bool async : {false, true}) {
    Setup s = hybrid(320);
    s.config.async_scheduling = async;
    s.config.max_num_batched_tokens = 512;
    const EngineRun run = run_engine(workload_of(rows, 16), s);
    CHECK_FALSE(run.journal.preempted.empty());
    for (const RequestRecord& r : run.journal.requests) {
      CHECK(r.status == RequestStatus::kCompleted);
    }
  }
}

TEST_CASE("groups whose window is longer than any request change pages, not time", "[models]") {
  // Nothing slides, so that each block costs two pages: a pool of twice the pages behaves as one
  // group's. Where cached blocks are evicted it need not, since two pages of one group may go where
  // one group loses one block: hence without caching in a tight pool, with it in an ample one.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto chain = ids(1000 * (i % 3), 10);
    for (const std::uint64_t id : ids(10'000 + 100 * i, 20)) chain.push_back(id);
    rows.push_back(
        {static_cast<std::int64_t>(20 * i), 480 + static_cast<std::uint32_t>(i), 120, chain});
  }
  const Workload w = workload_of(rows, 16);
  for (const bool caching : {false, true}) {
    CAPTURE(caching);
    Setup two = hybrid(caching ? 2000 : 400);
    two.config.groups.window = 100'000;
    two.config.enable_prefix_caching = caching;
    Setup one = hybrid(caching ? 1000 : 200);
    one.config.groups = KvGroups{};
    one.config.enable_prefix_caching = caching;
    const EngineRun a = run_engine(w, two);
    const EngineRun b = run_engine(w, one);
    REQUIRE(a.journal.requests.size() == b.journal.requests.size());
    CHECK(a.journal.preempted == b.journal.preempted);
    CHECK(a.journal.preempted.empty() == caching);
    CHECK(a.prefix.hits == b.prefix.hits);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(a.journal.requests[i].first_token == b.journal.requests[i].first_token);
      CHECK(a.journal.requests[i].finish == b.journal.requests[i].finish);
    }
  }
}

// ---- a tier below

/// Bytes that went each way.
struct Moved {
  std::int64_t down = 0;
  std::int64_t up = 0;
};
Moved moved(const EngineRun& run) {
  Moved out;
  for (const TransferRecord& t : run.journal.transfers) {
    (t.link == 0 ? out.down : out.up) += t.payload.count();
  }
  return out;
}

TEST_CASE("below go all pages, and back come the full group's and a window", "[models]") {
  // Window 128, blocks of 16: 8 blocks. A prompt of 64 blocks is stored with both groups' pages;
  // a second one of 64 others takes HBM. The first comes again and loads its 64 blocks; of the
  // sliding group those from token 1,023 - 127 on, 8.
  Setup s = hybrid(140);
  s.dram_blocks = 1000;
  const Workload w = workload_of(
      {{0, 1024, 2, ids(0, 64)}, {2000, 1024, 2, ids(100, 64)}, {4000, 1024, 2, ids(0, 64)}}, 16);
  const EngineRun run = run_engine(w, s);
  const std::int64_t page = s.config.block_bytes.count();
  CHECK(moved(run).down == 2 * 2 * 64 * page);
  CHECK(run.journal.requests[2].cached_tokens[0] == 0);
  CHECK(run.journal.requests[2].cached_tokens[1] == 64 * 16);
  CHECK(moved(run).up == (64 + 8) * page);
  CHECK(run.offload.hits == 64);
  CHECK(run.stuck == 0);
}

TEST_CASE("a tier that keeps no whole window gives nothing, whatever full layers have there",
          "[models]") {
  // A job of 64 blocks stores 64 sliding pages, then 64 full ones, the head of each the oldest.
  // Another job of 128 pages evicts what does not fit: 8 pages are sliding blocks 0..7, which no
  // window at the end needs; 64 pages are all the sliding ones.
  const auto again = [](std::uint32_t pages) {
    Setup s = hybrid(140);
    s.dram_blocks = pages;
    const Workload w = workload_of(
        {{0, 1024, 2, ids(0, 64)}, {2000, 1024, 2, ids(100, 64)}, {4000, 1024, 2, ids(0, 64)}}, 16);
    return run_engine(w, s).journal.requests[2].cached_tokens;
  };
  CHECK(again(256 - 8)[1] == 1024);
  CHECK(again(256 - 56)[1] == 1024);
  CHECK(again(256 - 57)[1] == 0);  // of the last window one page is gone
  CHECK(again(256 - 64)[1] == 0);
}

TEST_CASE("a store of sliding pages is flushed when one is handed out while its request runs",
          "[models]") {
  // A slow link: 64 pages of 2 MiB take longer than a step. The prompt's chunks leave their window
  // step by step and are handed out again to the same request: the step waits for the store.
  Setup s = hybrid(156);
  s.dram_blocks = 4000;
  s.bytes_per_second = 1'000'000'000;
  s.config.max_num_batched_tokens = 256;
  const EngineRun run = run_engine(workload_of({{0, 2048, 2, ids(0, 128)}}, 16), s);
  CHECK(run.offload.flushes > 0);
  CHECK(run.flush_stall > Duration(0));
  // With full attention alone nothing of a running request is handed out.
  Setup plain = s;
  plain.config.groups = KvGroups{};
  CHECK(run_engine(workload_of({{0, 2048, 2, ids(0, 128)}}, 16), plain).offload.flushes == 0);
}

TEST_CASE("with a window longer than any prompt groups load what one group loads", "[models]") {
  // Distinct prompts that come again after HBM has lost them, unaligned so that the last block is
  // computed anyway: hits, loads and their order are those of one group, at twice the pages.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 12; ++i) {
    rows.push_back({static_cast<std::int64_t>(400 * i), 520, 3, ids(100 * (i % 4), 32)});
  }
  const Workload w = workload_of(rows, 16);
  Setup two = hybrid(160);
  two.config.groups.window = 100'000;
  two.dram_blocks = 2000;
  Setup one = hybrid(80);
  one.config.groups = KvGroups{};
  one.dram_blocks = 1000;
  one.config.block_bytes = two.config.block_bytes * 2;
  const EngineRun a = run_engine(w, two);
  const EngineRun b = run_engine(w, one);
  CHECK(moved(a).down == moved(b).down);
  CHECK(a.offload.hits > 0);
  CHECK(a.offload.queries + a.prefix.hits == b.offload.queries + b.prefix.hits);
}

TEST_CASE("random traffic over groups and a small tier ends, and nothing leaks", "[models]") {
  // run_engine checks pages, pins and guards at the end of each run.
  std::uint64_t preempted = 0;
  std::uint64_t flushes = 0;
  std::uint64_t loaded = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Stream rng(seed, "traffic");
    const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
    std::vector<Row> rows;
    for (std::uint32_t i = 0; i < 60; ++i) {
      const std::uint32_t shared = draw(40);
      auto chain = ids(1000 * draw(4), shared);
      const std::uint32_t own = draw(20);
      for (const std::uint64_t id : ids(100'000 + 100 * i, own)) chain.push_back(id);
      rows.push_back({static_cast<std::int64_t>(8 * i + draw(30)),
                      16 * (shared + own) + 1 + draw(15), 1 + draw(60), chain});
    }
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return a.arrival_ms < b.arrival_ms; });
    Setup s = hybrid(260 + draw(400));
    s.config.groups = {1, 1 + draw(3), 16 + draw(300), 4};
    s.config.num_gpu_blocks = (100 + draw(200)) * s.config.groups.count();
    s.config.max_num_batched_tokens = 128 + draw(512);
    s.config.async_scheduling = draw(2) == 1;
    s.config.offload_prompt_only = draw(2) == 1;
    s.config.convoy = draw(2) == 1;
    s.config.defer_block_free = draw(2) == 1;
    s.config.priority_scheduling = draw(2) == 1;
    s.config.max_num_scheduled_tokens = draw(2) * 100;
    s.config.block_bytes = Bytes(1 << 20);
    s.dram_blocks = 100 + draw(1000);
    s.bytes_per_second = 2'000'000'000 + draw(1'000'000'000);
    const EngineRun run = run_engine(workload_of(rows, 16), s);
    preempted += run.journal.preempted.size();
    flushes += run.offload.flushes;
    loaded += run.offload.hits + run.offload.hits_resumed;
    for (const RequestRecord& r : run.journal.requests) {
      CHECK((r.status == RequestStatus::kCompleted || r.status == RequestStatus::kRejected ||
             run.stuck > 0));
    }
  }
  CHECK(preempted > 20);
  CHECK(flushes > 100);
  CHECK(loaded > 1000);
}

}  // namespace
}  // namespace spillway::test
