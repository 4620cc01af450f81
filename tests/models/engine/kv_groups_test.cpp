// How a model's layers divide into KV cache groups, what that saves, and engines with such pools.
#include "models/engine/kv_groups.hpp"

#include "models/engine/grouped_blocks.hpp"
#include "models/kv_geometry.hpp"
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

}  // namespace
}  // namespace spillway::test
