// Look-ups of pages below, beside the definition: the longest prefix of which every full group has
// all pages behind the local hit, and every sliding one those of the last window.
#include "models/engine/connectors/grouped_connector.hpp"

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

struct Nobody final : TransferWaiter {
  void on_transfer_progress() override {}
};

/// One request of `tokens` tokens over a tier that the test fills by hand.
struct Below {
  Below(std::uint32_t tokens, KvGroups groups, std::uint32_t per_chunk = 1)
      : workload(workload_of({{0, tokens, 1, ids(tokens / 4)}}, 4)),
        config(config_of(groups, per_chunk)),
        map(workload, 4),
        chains(map),
        names(chains.block_count() * groups.count()),
        requests(chains.longest_chain() * groups.count()),
        pool(config.num_gpu_blocks, EvictionChoice(), context(), true) {
    auto made =
        std::make_unique<BlockStore>(BlockStore::Size{1000, names}, EvictionChoice(), context());
    tier = made.get();
    auto stack = std::make_unique<TierStack>(
        TierStack::Environment{queue, network, journal, nobody, Bytes(1), names, context()}, *tier,
        TrimRule{}, std::vector<LevelConfig>{});
    connector = std::make_unique<GroupedConnector>(
        GroupedConnector::Environment{config, chains, requests, pool, nobody},
        FirstStore{std::move(made), *tier}, std::move(stack), workload.size());
    request.prompt = tokens;
    request.output = 1;
  }
  static std::vector<std::uint64_t> ids(std::uint32_t count) {
    std::vector<std::uint64_t> out;
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(i);
    return out;
  }
  static EngineConfig config_of(KvGroups groups, std::uint32_t per_chunk) {
    EngineConfig c;
    c.block_tokens = 4;
    c.num_gpu_blocks = 100;
    c.groups = groups;
    c.blocks_per_chunk = per_chunk;
    return c;
  }
  EvictionContext context() const {
    EvictionContext out;
    out.blocks = names;
    return out;
  }
  /// A chunk is known by its last block.
  BlockId page(std::uint32_t chunk, std::uint32_t group) const {
    const std::uint32_t block = (chunk + 1) * config.blocks_per_chunk - 1;
    return BlockId{block * config.groups.count() + group};
  }
  /// The page is below; `ready` unless its write is under way.
  void put(std::uint32_t chunk, std::uint32_t group, bool ready = true) {
    const BlockId name = page(chunk, group);
    std::vector<SlotId> slot;
    tier->begin_write({&name, 1}, slot);
    if (ready) tier->end_write(slot, {});
  }
  bool has(std::uint32_t chunk, std::uint32_t group) {
    return tier->place(page(chunk, group)).here();
  }
  KvConnector::Lookup look_up(std::uint32_t local) {
    return connector->look_up(request, local, {});
  }

  Workload workload;
  EngineConfig config;
  ChainMap map;
  LocalChains chains;
  std::uint32_t names;
  RequestPool requests;
  KvPool pool;
  Nobody nobody;
  EventQueue queue;
  Network network{queue};
  Journal journal;
  BlockStore* tier = nullptr;
  std::unique_ptr<GroupedConnector> connector;
  ActiveRequest request;
};

/// Blocks to load behind `local`, by trying every length in chunks.
std::uint32_t longest(Below& b, std::uint32_t local) {
  const KvGroups& g = b.config.groups;
  const std::uint32_t chunk = 4 * b.config.blocks_per_chunk;
  const std::uint32_t window = (g.window + chunk - 1) / chunk;
  const std::uint32_t first = local / b.config.blocks_per_chunk;
  for (std::uint32_t end = b.request.prompt / chunk; end > first; --end) {
    // The last token is computed: what that leaves has to be a whole chunk.
    const std::uint32_t reached = std::min(end * chunk, b.request.prompt - 1);
    if (reached < local * 4 + chunk) return 0;
    bool all = true;
    for (std::uint32_t group = 0; group < g.count(); ++group) {
      const bool slides = group < g.sliding && end > window;
      for (std::uint32_t i = slides ? std::max(first, end - window) : first; i < end; ++i) {
        all = all && b.has(i, group);
      }
    }
    if (all) return (reached + 3) / 4 - local;
  }
  return 0;
}

TEST_CASE("a look-up over groups finds the longest prefix that all of them have", "[models]") {
  for (const std::uint32_t per_chunk : {1U, 2U, 3U}) {
    std::uint32_t found = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
      Stream rng(seed, "below");
      const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
      Below b(20 + draw(60), {1 + draw(2), 1 + draw(3), 2 + draw(24), 4}, per_chunk);
      const std::uint32_t blocks = b.request.prompt / 4;
      const double share = 0.7 + 0.3 * rng.uniform();
      for (std::uint32_t i = 0; i < blocks / per_chunk; ++i) {
        for (std::uint32_t g = 0; g < b.config.groups.count(); ++g) {
          const bool full = g >= b.config.groups.sliding;
          if (rng.chance(full ? 0.99 : share)) b.put(i, g);
        }
      }
      const std::uint32_t local = draw(blocks);
      CAPTURE(per_chunk, seed, local, blocks, b.config.groups.window);
      const KvConnector::Lookup hit = b.look_up(local);
      CHECK(hit.known);
      CHECK(hit.blocks == longest(b, local));
      found += hit.blocks > 0 ? 1 : 0;
    }
    CHECK(found > 500);
  }
}

TEST_CASE("a page being written defers where the answer rests on it, one being read as a convoy",
          "[models]") {
  // Six blocks and one more token; a window of 8 tokens, two blocks.
  Below b(25, {1, 1, 8, 4});
  for (std::uint32_t i = 0; i < 6; ++i) b.put(i, 1);
  b.put(4, 0);
  b.put(5, 0, false);
  CHECK_FALSE(b.look_up(0).known);
  // Once it is written the last window is there; what lies before it may be missing.
  const SlotId slot = b.tier->place(BlockId{10}).slot();
  b.tier->end_write({&slot, 1}, {});
  CHECK(b.look_up(0).known);
  CHECK(b.look_up(0).blocks == 6);
  // Another request loads a page of that window.
  b.tier->begin_read({&slot, 1});
  CHECK_FALSE(b.look_up(0).known);
  b.config.convoy = false;
  CHECK(b.look_up(0).blocks == 6);
  b.tier->end_read({&slot, 1}, {});
}

}  // namespace
}  // namespace spillway::test
