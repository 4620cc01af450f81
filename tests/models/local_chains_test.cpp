// Block ids of one engine beside those of the simulation. Trace blocks have 64 tokens, engine
// blocks 16: four in each.
#include "models/chains/local_chains.hpp"

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

struct Run {
  std::uint32_t first;
  std::uint32_t count;
  bool operator==(const Run&) const = default;
};

template <class Chains>
std::vector<Run> runs_of(const Chains& chains, std::uint32_t request, std::uint32_t blocks) {
  std::vector<Run> out;
  chains.for_runs(RequestId{request}, 0, blocks, [&](std::uint32_t first, std::uint32_t count) {
    out.push_back({first, count});
    return true;
  });
  return out;
}

TEST_CASE("alone, an engine goes by the ids of the chain map", "[models]") {
  const Workload workload =
      workload_of_turns({{0, 128, 32, {}, -1, {1, 2}}, {9, 150, 40, {}, -1, {1, 3}}}, 64);
  const ChainMap map(workload, 16);
  LocalChains chains(map);
  chains.name(RequestId{1});
  CHECK(chains.block_count() == map.block_count());
  for (const std::uint32_t r : {0U, 1U}) {
    const std::uint32_t blocks = map.blocks_of(RequestId{r});
    CHECK(runs_of(chains, r, blocks) == runs_of(map, r, blocks));
  }
  CHECK(chains.global_of(BlockId{5}) == BlockId{5});
}

TEST_CASE("beside others, blocks are named as requests come", "[models]") {
  // Blocks 0-3 and 4-7 of trace blocks 1 and 2, 8-11 of 3; then 2 own blocks of each answer.
  const Workload workload = workload_of_turns(
      {{0, 128, 32, {}, -1, {1, 2}}, {9, 128, 32, {}, -1, {1, 3}}, {20, 64, 16, {}, -1, {4}}}, 64);
  const ChainMap map(workload, 16);
  CHECK(runs_of(map, 1, 10) == std::vector<Run>{{0, 4}, {8, 4}, {18, 2}});
  LocalChains chains(map, 2);
  chains.keep_origins();
  chains.name(RequestId{1});
  chains.name(RequestId{1});  // once more changes nothing
  CHECK(runs_of(chains, 1, 10) == std::vector<Run>{{0, 4}, {4, 4}, {8, 2}});
  chains.name(RequestId{0});
  CHECK(runs_of(chains, 0, 10) == std::vector<Run>{{0, 4}, {10, 4}, {14, 2}});
  CHECK(chains.global_of(BlockId{0}) == BlockId{0});
  CHECK(chains.global_of(BlockId{5}) == BlockId{9});
  CHECK(chains.global_of(BlockId{8}) == BlockId{18});
  CHECK(chains.global_of(BlockId{15}) == BlockId{17});
}

TEST_CASE("an answer that the next prompt repeats is named with its request", "[models]") {
  // 64 + 64 tokens: the answer is the second trace block of the next prompt.
  const Workload workload =
      workload_of_turns({{0, 64, 64, {}, -1, {1}}, {9, 192, 16, {0}, -1, {1, 2, 3}}}, 64);
  const ChainMap map(workload, 16);
  LocalChains chains(map, 4);
  chains.name(RequestId{0});
  CHECK(runs_of(chains, 0, 8) == std::vector<Run>{{0, 4}, {4, 4}});
  chains.name(RequestId{1});
  CHECK(runs_of(chains, 1, 13) == std::vector<Run>{{0, 4}, {4, 4}, {8, 4}, {12, 1}});
}

struct Columns final : BlockColumns {
  void grow_blocks(std::uint32_t now) override {
    CHECK(now >= blocks);
    blocks = now;
  }
  std::uint32_t blocks = 0;
};

TEST_CASE("runs are as long in both spaces, and columns grow before ids do", "[models]") {
  std::vector<Turn> turns;
  Stream draw(7, "chains");
  for (std::uint32_t i = 0; i < 400; ++i) {
    Turn turn{i, 0, 1 + static_cast<std::uint32_t>(draw.below(80)), {}, -1, {}};
    const auto blocks = 1 + draw.below(8);
    turn.input_tokens = static_cast<std::uint32_t>(64 * blocks - draw.below(40));
    const auto family = draw.below(12);
    for (std::uint64_t b = 0; b < blocks; ++b) turn.blocks.push_back(100 * family + b);
    if (draw.below(2) == 0) turn.blocks.back() = 10'000 + i;
    turns.push_back(turn);
  }
  const Workload workload = workload_of_turns(turns, 64);
  const ChainMap map(workload, 16);
  LocalChains chains(map, 1000);
  chains.keep_origins();
  Columns columns;
  Columns pages;
  chains.attach(columns);
  chains.attach(pages, 3);
  columns.blocks = chains.block_count();
  pages.blocks = 3 * columns.blocks;
  for (std::uint32_t r = 0; r < 400; r += 2) {
    chains.name(RequestId{r});
    const std::uint32_t blocks = map.blocks_of(RequestId{r});
    const auto local = runs_of(chains, r, blocks);
    const auto global = runs_of(map, r, blocks);
    REQUIRE(local.size() == global.size());
    for (std::size_t i = 0; i < local.size(); ++i) {
      CHECK(local[i].count == global[i].count);
      CHECK(local[i].first + local[i].count <= columns.blocks);
      for (std::uint32_t k = 0; k < local[i].count; ++k) {
        CHECK(chains.global_of(BlockId{local[i].first + k}) == BlockId{global[i].first + k});
      }
    }
    CHECK(pages.blocks == 3 * columns.blocks);
    CHECK(columns.blocks <= map.block_count());
  }
}

}  // namespace
}  // namespace spillway::test
