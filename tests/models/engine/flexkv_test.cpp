// FlexKV: its radix tree, eviction, and small histories of an engine. Whole histories against the
// oracle are in tests/oracle (part flexkv).
#include "models/engine/connectors/flexkv/flexkv_tree.hpp"
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

std::vector<BlockId> run_of(std::initializer_list<std::uint32_t> ids) {
  std::vector<BlockId> out;
  for (const std::uint32_t id : ids) out.push_back(BlockId{id});
  return out;
}

/// A tree that takes room and inserts at once, and is told of seconds.
struct Planted {
  FlexkvConfig config;
  FlexkvTree tree;
  explicit Planted(std::uint64_t slots, FlexkvEviction eviction = FlexkvEviction::kLru,
                   FlexkvConfig rules = only_for_room())
      : config(rules), tree(slots, eviction, config) {}

  /// Nothing leaves before the slots are used up, and then no more than has to.
  static FlexkvConfig only_for_room() {
    FlexkvConfig out;
    out.start_threshold = FlexkvConfig::kWhole;
    out.evict_ratio = 0;
    return out;
  }
  FlexkvTree::Match match(std::initializer_list<std::uint32_t> ids, int at) {
    return tree.match(run_of(ids), Time(seconds(at)));
  }
  /// What is not there yet comes in; ready at once unless told otherwise.
  FlexkvTree::Node add(std::initializer_list<std::uint32_t> ids, int at, bool ready = true) {
    const std::vector<BlockId> run = run_of(ids);
    const FlexkvTree::Match m = tree.match(run, Time(seconds(at)));
    const BlockSpan rest = BlockSpan(run).subspan(m.blocks);
    REQUIRE(tree.take(rest.size(), m.last));
    const FlexkvTree::Node node = tree.insert(m, rest, Time(seconds(at)));
    if (ready) tree.make_ready(node);
    return node;
  }
  std::uint32_t found(std::initializer_list<std::uint32_t> ids) { return match(ids, 99).ready; }
};

TEST_CASE("FlexKV: an insertion splits the node in which its match ended", "[models]") {
  Planted p(10);
  p.add({1, 2, 3, 4}, 1);
  p.add({1, 2, 5}, 2);
  CHECK(p.tree.used() == 5);
  CHECK(p.found({1, 2, 3, 4}) == 4);
  CHECK(p.found({1, 2, 5, 6}) == 3);
  CHECK(p.found({5}) == 0);  // not below the root
  p.tree.check_drained();
}

TEST_CASE("FlexKV: what was split off a node that is being written is ready with it", "[models]") {
  Planted p(10);
  const FlexkvTree::Node written = p.add({1, 2, 3, 4}, 1, false);
  p.add({1, 2, 5}, 2);  // ready itself, behind a head that is not
  p.add({1, 6}, 3);     // that head is split again
  CHECK(p.match({1, 2, 5}, 4).blocks == 3);
  CHECK(p.match({1, 2, 5}, 4).ready == 0);
  p.tree.make_ready(written);
  CHECK(p.found({1, 2, 5}) == 3);
  CHECK(p.found({1, 2, 3, 4}) == 4);
  p.tree.check_drained();
}

TEST_CASE("FlexKV: a leaf is cut where less than it has to leave", "[models]") {
  Planted p(6);
  p.add({1, 2, 3, 4}, 1);
  p.add({5, 6}, 2);
  CHECK(p.tree.take(1, FlexkvTree::kRoot));
  CHECK(p.tree.evicted() == 1);
  CHECK(p.found({1, 2, 3, 4}) == 3);
  // Three more: the rest of that leaf. Then its room and both of the other one are not enough.
  p.tree.match(run_of({5, 6}), Time(seconds(100)));
  CHECK(p.tree.take(3, FlexkvTree::kRoot));
  CHECK(p.found({1}) == 0);
  CHECK(p.found({5, 6}) == 2);
  CHECK_FALSE(p.tree.take(3, FlexkvTree::kRoot));
  CHECK(p.tree.evicted() == 6);  // gone all the same
}

TEST_CASE("FlexKV: locked, protected and unready nodes stay, and so do their parents", "[models]") {
  Planted p(5);
  p.add({1, 2}, 1);
  const FlexkvTree::Node leaf = p.add({1, 2, 3}, 2);
  p.add({4}, 3, false);
  p.tree.lock(leaf);
  CHECK_FALSE(p.tree.take(2, FlexkvTree::kRoot));  // one slot is free
  p.tree.unlock(leaf);
  CHECK_FALSE(p.tree.take(2, leaf));
  CHECK(p.tree.evicted() == 0);
  // The leaf goes, and its parent, which is one then, is cut.
  CHECK(p.tree.take(3, FlexkvTree::kRoot));
  CHECK(p.found({1, 2, 3}) == 1);
}

TEST_CASE("FlexKV: an eviction frees down to its threshold, or its ratio", "[models]") {
  FlexkvConfig rules;
  rules.start_threshold = 700'000'000;
  rules.evict_ratio = 500'000'000;
  Planted p(10, FlexkvEviction::kFifo, rules);
  for (std::uint32_t i = 0; i < 7; ++i) p.add({i}, static_cast<int>(i));
  CHECK(p.tree.evicted() == 0);
  // 7 of 10 are in use: of 0 for room, 3 - 3 down to the threshold and 5 the most leave.
  CHECK(p.tree.take(1, FlexkvTree::kRoot));
  CHECK(p.tree.evicted() == 5);
  CHECK(p.found({4}) == 0);
  CHECK(p.found({5}) == 1);
}

TEST_CASE("FlexKV: each order of eviction has its own first", "[models]") {
  // Block 1 came first, 2 next and 3 last. 1 was hit once, at 10 s; 2 twice, at 4 s and 5 s; 3 not.
  const auto first_to_leave = [](FlexkvEviction eviction, FlexkvConfig rules) {
    Planted p(3, eviction, rules);
    p.add({1}, 1);
    p.add({2}, 2);
    p.add({3}, 3);
    p.match({2}, 4);
    p.match({2}, 5);
    p.match({1}, 10);
    REQUIRE(p.tree.take(1, FlexkvTree::kRoot));
    for (const std::uint32_t id : {1U, 2U, 3U}) {
      if (p.found({id}) == 0) return id;
    }
    return 0U;
  };
  FlexkvConfig rules = Planted::only_for_room();
  CHECK(first_to_leave(FlexkvEviction::kLru, rules) == 3);
  CHECK(first_to_leave(FlexkvEviction::kLfu, rules) == 3);
  CHECK(first_to_leave(FlexkvEviction::kSlru, rules) == 3);
  CHECK(first_to_leave(FlexkvEviction::kFifo, rules) == 1);
  CHECK(first_to_leave(FlexkvEviction::kMru, rules) == 1);
  CHECK(first_to_leave(FlexkvEviction::kFilo, rules) == 3);
  rules.protected_hits = 1;  // 1 and 2 are protected
  CHECK(first_to_leave(FlexkvEviction::kSlru, rules) == 3);
}

TEST_CASE("FlexKV: hits reward blocks with time", "[models]") {
  // Two hits at 3 s and 4 s take block 1 to 3 + 5 + 5 = 13 s; block 2 is hit at 10 s: 15 s. Hit
  // once more at 5 s, block 1 has 18 s.
  const auto one_left = [](int more) {
    FlexkvConfig rules = Planted::only_for_room();
    rules.hit_reward = seconds(5);
    Planted p(2, FlexkvEviction::kLru, rules);
    p.add({1}, 1);
    p.add({2}, 2);
    for (int i = 0; i < 2 + more; ++i) p.match({1}, 3 + i);
    p.match({2}, 10);
    REQUIRE(p.tree.take(1, FlexkvTree::kRoot));
    return p.found({1}) == 1;
  };
  CHECK_FALSE(one_left(0));
  CHECK(one_left(1));
}

// ---- histories

/// 1 ms a block.
AttachedWay way(std::uint32_t link) {
  return {link, make_affine_link(Duration(0), 1000 * kBlock), Duration(0), Bytes(kBlock), 1};
}

/// A link each to and from each tier, no prefix cache in HBM.
struct Flexkv {
  Setup setup;
  std::vector<std::uint64_t> slots;

  explicit Flexkv(std::vector<std::uint64_t> tiers) : slots(std::move(tiers)) {
    setup.config.connector = ConnectorKind::kFlexkv;
    setup.config.enable_prefix_caching = false;
    setup.config.flexkv = Planted::only_for_room();
  }
  EngineRun run(const std::vector<Row>& rows) const {
    const Workload workload = workload_of(rows, kPerTraceBlock);
    EngineParts parts = parts_of(setup);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto link = static_cast<std::uint32_t>(2 * i);
      parts.attached.push_back({slots[i], false, way(link), way(link + 1)});
    }
    return run_parts(workload, std::move(parts));
  }
};

constexpr std::int64_t kStep = step_ns(64, 64);

TEST_CASE("FlexKV: a request stores when it completes, and an aligned prompt is loaded whole",
          "[models]") {
  // Request 0 has 64 + 1 tokens: four blocks, copied in 4 ms once it is done. Request 1 loads all
  // four in 4 ms and computes its last token.
  const EngineRun run = Flexkv({8}).run({{0, 64, 1, {1}}, {100, 64, 1, {1}}});
  CHECK(ends_of(run, 0) == std::vector{kStep + 4 * kMs});
  CHECK(ends_of(run, 1) == std::vector{104 * kMs});
  const RequestRecord& last = run.journal.requests[1];
  CHECK(last.cached_tokens[1] == 64);
  CHECK(nanoseconds_of(last.first_token) == 104 * kMs + step_ns(1, 64));
  CHECK(stored_in(run, 1) == 4);  // at its end request 1 finds everything there
  CHECK(run.chunk_tiers[0].queries == 4 + 4);
  CHECK(run.chunk_tiers[0].hits == 4);
}

TEST_CASE("FlexKV: blocks that are being written are computed again", "[models]") {
  // Request 1 arrives while the four blocks of request 0 are on their way to host memory.
  const EngineRun run = Flexkv({8}).run({{0, 64, 1, {1}}, {4, 64, 1, {1}}});
  CHECK(kStep < 4 * kMs);
  CHECK(run.journal.requests[1].cached_tokens[1] == 0);
  CHECK(nanoseconds_of(run.journal.requests[1].first_token) == 4 * kMs + kStep);
  CHECK(stored_in(run, 1) == 4);
}

TEST_CASE("FlexKV: a finished request keeps its HBM blocks until its copy has ended", "[models]") {
  // HBM has five blocks. Request 1 needs four; request 0 holds as many for 4 ms more.
  Flexkv flexkv({8});
  flexkv.setup.config.num_gpu_blocks = 6;
  const EngineRun run = flexkv.run({{0, 64, 1, {1}}, {0, 64, 1, {2}}});
  CHECK(nanoseconds_of(run.journal.requests[0].finish) == kStep);
  CHECK(nanoseconds_of(run.journal.requests[1].first_token) == kStep + 4 * kMs + kStep);
  // Without room in host memory there is nothing to wait for.
  flexkv.slots = {3};
  const EngineRun none = flexkv.run({{0, 64, 1, {1}}, {0, 64, 1, {2}}});
  CHECK(nanoseconds_of(none.journal.requests[1].first_token) == 2 * kStep);
  CHECK(none.chunk_tiers[0].refused == 4 + 4);
  CHECK(none.journal.transfers.empty());
}

TEST_CASE("FlexKV: what host memory lost comes from the disk by way of it", "[models]") {
  // Four slots of host memory: request 1 takes those of request 0, which the disk has. Request 2
  // makes room by evicting request 1's, reads 4 ms, loads 4 ms, and finds its blocks in both tiers
  // when it ends.
  const EngineRun run =
      Flexkv({4, 16}).run({{0, 64, 1, {1}}, {100, 64, 1, {2}}, {200, 64, 1, {1}}});
  const RequestRecord& last = run.journal.requests[2];
  CHECK(last.cached_tokens[1] == 0);
  CHECK(last.cached_tokens[2] == 64);
  CHECK(ends_of(run, 2) == std::vector{kStep + 8 * kMs, 100 * kMs + kStep + 8 * kMs});
  CHECK(ends_of(run, 3) == std::vector{204 * kMs});
  CHECK(ends_of(run, 1) == std::vector{208 * kMs});
  CHECK(nanoseconds_of(last.first_token) == 208 * kMs + step_ns(1, 64));
  CHECK(stored_in(run, 1) == 3 * 4);
  CHECK(stored_in(run, 2) == 2 * 4);
}

TEST_CASE("FlexKV: what comes from the remote store goes to the disk, too", "[models]") {
  // Host memory and the disk have room for one request each, the remote store for all. Request 2
  // reads 4 ms from it, then the disk is written beside the load.
  const EngineRun run =
      Flexkv({4, 4, 16}).run({{0, 64, 1, {1}}, {100, 64, 1, {2}}, {200, 64, 1, {1}}});
  const RequestRecord& last = run.journal.requests[2];
  CHECK(last.cached_tokens[3] == 64);
  CHECK(ends_of(run, 5) == std::vector{204 * kMs});
  CHECK(ends_of(run, 1) == std::vector{208 * kMs});
  CHECK(ends_of(run, 2).back() == 208 * kMs);
  CHECK(stored_in(run, 2) == 3 * 4);
  CHECK(stored_in(run, 3) == 2 * 4);
}

TEST_CASE("FlexKV: a request without room in HBM undoes what its look-up took", "[models]") {
  // HBM has four blocks. Request 2 holds one for its ten steps, so request 3, which needs four that
  // only the disk has, is asked in each of these passes and admitted after the last.
  Flexkv flexkv({4, 16});
  flexkv.setup.config.num_gpu_blocks = 5;
  const EngineRun run =
      flexkv.run({{0, 64, 1, {1}}, {100, 64, 1, {2}}, {200, 5, 10, {9}}, {200, 64, 1, {1}}});
  CHECK(run.stuck == 0);
  const RequestRecord& last = run.journal.requests[3];
  CHECK(last.cached_tokens[2] == 64);
  CHECK(ends_of(run, 3).size() == 1);
  CHECK(run.journal.requests[2].finish < last.first_token);
  CHECK(stored_in(run, 1) == 3 * 4);
}

}  // namespace
}  // namespace spillway::test
