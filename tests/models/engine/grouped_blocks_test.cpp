// Pages of a model with several KV cache groups: closed forms, and random histories beside a naive
// allocator that keeps a list per group and searches everything anew.
#include "models/engine/stores/grouped_blocks.hpp"

#include <deque>
#include <map>
#include <optional>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr Access kSomebody{};

EngineConfig config_of(KvGroups groups, std::uint32_t pool) {
  EngineConfig c;
  c.block_tokens = 4;
  c.num_gpu_blocks = pool + 1;
  c.max_num_batched_tokens = 32;
  c.groups = groups;
  return c;
}

/// A pool, the chains of a workload and one request per row of it.
struct Rig {
  Rig(const std::vector<Row>& rows, KvGroups groups, std::uint32_t pages)
      : workload(workload_of(rows, 4)),
        config(config_of(groups, pages)),
        names(workload, config.block_tokens),
        chains(names),
        requests(chains.longest_chain() * groups.count()),
        pool(config.num_gpu_blocks, EvictionChoice(), context(), true),
        blocks({config, chains, requests, pool}) {
    for (std::uint32_t i = 0; i < workload.size(); ++i) {
      const Handle h = requests.make();
      requests[h].id = RequestId{i};
      requests[h].prompt = workload.input_tokens(RequestId{i});
      requests[h].output = workload.output_tokens(RequestId{i});
    }
  }
  EvictionContext context() const {
    EvictionContext out;
    out.blocks = chains.block_count() * config.groups.count();
    return out;
  }
  ActiveRequest& request(std::uint32_t i) { return requests[Handle{i}]; }

  /// Admits with what is cached and `tokens` more; the step then ends.
  bool admit(std::uint32_t i, std::uint32_t tokens) {
    ActiveRequest& r = request(i);
    const std::uint32_t local = blocks.find_local(r, hits);
    const std::uint32_t known = local * config.block_tokens;
    if (!blocks.admit(r, {known, tokens, 0, 0, 0, false}, hits, kSomebody)) return false;
    r.computed = known + tokens;
    return true;
  }
  bool grow(std::uint32_t i, std::uint32_t tokens) {
    if (!blocks.grow(request(i), tokens, kSomebody)) return false;
    request(i).computed += tokens;
    return true;
  }
  void release(std::uint32_t i) {
    blocks.release(request(i).slots, kSomebody);
    request(i).slots.clear();
    request(i).computed = 0;
    request(i).registered = 0;
  }
  /// Pages that the request has in one group.
  std::uint32_t pages(std::uint32_t i, std::uint32_t group) {
    std::uint32_t out = 0;
    const auto& places = request(i).slots;
    for (std::size_t at = group; at < places.size(); at += config.groups.count()) {
      out += places[at] == kNullSlot ? 0 : 1;
    }
    return out;
  }

  Workload workload;
  EngineConfig config;
  ChainMap names;
  LocalChains chains;
  RequestPool requests;
  KvPool pool;
  GroupedBlocks blocks;
  std::vector<SlotId> hits;
};

std::vector<std::uint64_t> ids(std::uint64_t first, std::uint32_t count) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(first + i);
  return out;
}

TEST_CASE("a sliding group holds a window and the chunk, a full one everything", "[models]") {
  // Blocks of 4, a window of 10: a token reads itself and 9 before it, which lie in at most
  // ceil(9 / 4) + 1 = 4 blocks. Chunks of 32 tokens add 8.
  Rig rig({{0, 200, 100, ids(0, 50)}}, {1, 2, 10, 3}, 400);
  REQUIRE(rig.admit(0, 32));
  for (int i = 0; i < 5; ++i) {
    REQUIRE(rig.grow(0, 32));
    CHECK(rig.pages(0, 0) <= 4 + 8);
    CHECK(rig.pages(0, 0) == rig.pages(0, 1));
  }
  CHECK(rig.request(0).computed == 192);
  CHECK(rig.pages(0, 2) == 48);
  REQUIRE(rig.grow(0, 8));
  for (int i = 0; i < 99; ++i) {
    ++rig.request(0).generated;
    REQUIRE(rig.grow(0, 1));
    CHECK(rig.pages(0, 0) <= 4);
  }
  // 299 tokens: 75 blocks in full, and of the window before token 298 (289..298) blocks 72..74.
  CHECK(rig.pages(0, 2) == 75);
  CHECK(rig.pages(0, 0) == 3);
  CHECK(rig.pool.used() == 75 + 2 * 3);
  rig.release(0);
  CHECK(rig.pool.used() == 0);
}

TEST_CASE("steps in flight keep the window that they still read", "[models]") {
  // 40 tokens known, 32 of them in a step that has not ended: its first token, 8, reads no block
  // before that of token 8 - 9 < 0, so that nothing can be freed yet. Afterwards tokens 0..30 are
  // behind every window: 7 blocks.
  Rig rig({{0, 200, 1, ids(0, 50)}}, {1, 1, 10, 3}, 400);
  REQUIRE(rig.admit(0, 8));
  REQUIRE(rig.grow(0, 32));
  rig.blocks.tokens_begin(RequestId{0}, 32);
  REQUIRE(rig.grow(0, 4));
  CHECK(rig.pages(0, 0) == 11);
  rig.blocks.tokens_begin(RequestId{0}, 4);
  rig.blocks.tokens_end(RequestId{0}, 32);
  REQUIRE(rig.grow(0, 4));
  CHECK(rig.pages(0, 0) == 12 - 7);
}

TEST_CASE("a prefix counts as cached up to the last window that is there", "[models]") {
  // The first request's 10 full blocks of 4, window 10: hits need ceil(9 / 4) = 3 sliding pages in
  // a row. Computed in one go, all of them are cached.
  Rig rig({{0, 41, 1, ids(0, 10)}, {0, 41, 1, ids(0, 10)}}, {1, 1, 10, 3}, 24);
  REQUIRE(rig.admit(0, 41));
  rig.release(0);
  CHECK(rig.blocks.find_local(rig.request(1), rig.hits) == 10);
  // Only the last three sliding pages are part of the hit.
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK((rig.hits[2 * i] != kNullSlot) == (i >= 7));
    CHECK(rig.hits[2 * i + 1] != kNullSlot);
  }
  REQUIRE(rig.admit(1, 1));
  CHECK(rig.pages(1, 0) == 4);
  CHECK(rig.pages(1, 1) == 11);
}

TEST_CASE("a prefix whose windows are evicted is none, however much of it full layers have",
          "[models]") {
  // 24 pages. Chunks of 4 tokens: the sliding group never has more than 4 pages, so that those of
  // the head are freed first, in order, and evicted first.
  Rig rig({{0, 41, 1, ids(0, 10)}, {0, 45, 1, ids(100, 11)}, {0, 41, 1, ids(0, 10)}}, {1, 1, 10, 3},
          24);
  REQUIRE(rig.admit(0, 4));
  for (int i = 0; i < 9; ++i) REQUIRE(rig.grow(0, 4));
  REQUIRE(rig.grow(0, 1));
  rig.release(0);
  REQUIRE(rig.blocks.find_local(rig.request(2), rig.hits) == 10);
  // Another one takes 12 + 12 pages in one go: everything of the first is gone.
  REQUIRE(rig.admit(1, 45));
  CHECK(rig.blocks.find_local(rig.request(2), rig.hits) == 0);
}

TEST_CASE("losing one sliding page of the window shortens the hit to a window before it",
          "[models]") {
  Rig rig({{0, 41, 1, ids(0, 10)}, {0, 41, 1, ids(0, 10)}}, {1, 1, 10, 3}, 22);
  REQUIRE(rig.admit(0, 41));
  rig.release(0);
  // Sliding pages were freed first, the tail before the head. The unhashed eleventh of both
  // groups go first, then sliding blocks 9, 8, ...: with 9 gone the last run of three is 6..8.
  std::vector<SlotId> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(rig.pool.take(kSomebody));
  CHECK(rig.blocks.find_local(rig.request(1), rig.hits) == 9);
  // Down to one page of the group: a run that begins with the sequence may be short of a window.
  for (int i = 0; i < 8; ++i) taken.push_back(rig.pool.take(kSomebody));
  CHECK(rig.blocks.find_local(rig.request(1), rig.hits) == 1);
  taken.push_back(rig.pool.take(kSomebody));
  CHECK(rig.blocks.find_local(rig.request(1), rig.hits) == 0);
  rig.pool.release(taken, kSomebody);
}

TEST_CASE("what a load brings is the full groups' blocks and the last window", "[models]") {
  // 10 blocks below, nothing cached: with 40 tokens known the next one reads tokens 31..39, so
  // that sliding blocks before 31 / 4 = 7 are not even allocated.
  Rig rig({{0, 45, 1, ids(0, 11)}}, {1, 2, 10, 3}, 100);
  ActiveRequest& r = rig.request(0);
  REQUIRE(rig.blocks.find_local(r, rig.hits) == 0);
  REQUIRE(rig.blocks.admit(r, {40, 0, 10, 0, 0, true}, rig.hits, kSomebody));
  CHECK(rig.pages(0, 2) == 10);
  CHECK(rig.pages(0, 0) == 3);
  CHECK(rig.pages(0, 1) == 3);
  CHECK(rig.pool.cached() == 0);
  r.computed = 40;
  rig.blocks.register_full(r, 40);
  CHECK(rig.pool.cached() == 16);
  // What is outstanding counts places, as upstream does: 12 blocks of 3 groups less 10 places each.
  CHECK(rig.blocks.outstanding(r) == 2 * 3);
}

TEST_CASE("the bound of a request is one group's whole sequence and the others' window",
          "[models]") {
  EngineConfig c = config_of({1, 6, 10, 10}, 100);
  // 30 tokens: 8 blocks a group; the bound of the sliding ones, ceil((9 + 32) / 4) + 1 = 12, is
  // beyond that.
  CHECK(most_pages(c, 30) == 8 * 7);
  CHECK(most_pages(c, 300) == 75 + 6 * 12);
  c.async_scheduling = true;  // two batches: ceil((9 + 64) / 4) + 1 = 20
  CHECK(most_pages(c, 300) == 75 + 6 * 20);
  c.groups = KvGroups{};
  CHECK(most_pages(c, 300) == 75);
}

// ---- random histories

/// vLLM's managers written out: a list of pages for each group, a free list, and a search through
/// all pages for each look-up.
class Naive {
 public:
  Naive(const EngineConfig& c, std::uint32_t pages) : c_(c), g_(c.groups) {
    content_.resize(pages + 1);
    refs_.resize(pages + 1);
    for (std::uint32_t i = 1; i <= pages; ++i) free_.push_back(i);
  }
  struct Request {
    std::vector<std::vector<std::uint32_t>> lists;  ///< by group; 0: none
    std::uint32_t cached = 0;
    std::uint32_t length() const { return static_cast<std::uint32_t>(lists[0].size()); }
  };
  Request make() const { return {std::vector<std::vector<std::uint32_t>>(g_.count()), 0}; }
  std::size_t free() const { return free_.size(); }

  std::uint32_t find(const std::vector<std::uint32_t>& chain, std::uint32_t limit) const {
    const auto have = [&](std::uint32_t block, std::uint32_t from, std::uint32_t to) {
      for (std::uint32_t g = from; g < to; ++g) {
        if (page_of(chain[block], g) == 0) return false;
      }
      return true;
    };
    std::uint32_t full = 0;
    while (full < limit && have(full, g_.sliding, g_.count())) ++full;
    const std::uint32_t window = (g_.window - 1 + c_.block_tokens - 1) / c_.block_tokens;
    for (std::uint32_t end = full; end > 0; --end) {
      const std::uint32_t begin = end > window ? end - window : 0;
      bool whole = true;
      for (std::uint32_t b = begin; b < end; ++b) whole = whole && have(b, 0, g_.sliding);
      if (whole) return end;
    }
    return 0;
  }

  bool admit(Request& r, const std::vector<std::uint32_t>& chain, std::uint32_t tokens,
             std::uint32_t known, std::uint32_t chunk, std::uint32_t external) {
    const std::uint32_t local = find(chain, (tokens - 1) / c_.block_tokens);
    const std::uint32_t skip = skipped(known);
    const std::uint32_t wanted = blocks(known + chunk);
    std::uint64_t gate = 0;
    std::uint64_t need = 0;
    for (std::uint32_t g = 0; g < g_.count(); ++g) {
      const std::uint32_t begin = g < g_.sliding ? skip : 0;
      const std::uint32_t had = std::max(begin, local);
      std::uint32_t whole = blocks(tokens);
      if (g < g_.sliding) {
        whole = std::min(whole, blocks(g_.window - 1 + c_.max_num_batched_tokens) + 1);
      }
      std::uint64_t idle = 0;
      for (std::uint32_t b = begin; b < local; ++b) {
        idle += refs_[page_of(chain[b], g)] == 0 ? 1 : 0;
      }
      gate += (whole > had ? whole - had : 0) + idle;
      need += (wanted > had ? wanted - had : 0) + idle;
    }
    if (gate > free_.size() || need > free_.size()) return false;
    for (std::uint32_t g = 0; g < g_.count(); ++g) {
      const std::uint32_t begin = g < g_.sliding ? skip : 0;
      r.lists[g].assign(std::max(begin, local), 0);
      for (std::uint32_t b = begin; b < local; ++b) {
        const std::uint32_t page = page_of(chain[b], g);
        if (refs_[page]++ == 0) std::erase(free_, page);
        r.lists[g][b] = page;
      }
    }
    r.cached = local;
    if (external > 0) extend(r, blocks(known));
    extend(r, wanted);
    if (external == 0) cache(r, chain, known + chunk, tokens);
    return true;
  }

  bool grow(Request& r, const std::vector<std::uint32_t>& chain, std::uint32_t computed,
            std::uint32_t chunk, std::uint32_t tokens) {
    for (std::uint32_t g = 0; g < g_.sliding; ++g) {
      std::vector<std::uint32_t> gone;
      for (std::uint32_t b = std::min(skipped(computed), r.length()); b-- > 0;) {
        if (r.lists[g][b] == 0) break;
        gone.push_back(r.lists[g][b]);
        r.lists[g][b] = 0;
      }
      give_back(gone);
    }
    const std::uint32_t wanted = blocks(computed + chunk);
    const std::uint32_t more = wanted > r.length() ? wanted - r.length() : 0;
    if (std::size_t{more} * g_.count() > free_.size()) return false;
    extend(r, wanted);
    cache(r, chain, computed + chunk, tokens);
    return true;
  }

  void cache(Request& r, const std::vector<std::uint32_t>& chain, std::uint32_t upto,
             std::uint32_t tokens) {
    const std::uint32_t full = std::min(upto, tokens) / c_.block_tokens;
    for (std::uint32_t b = r.cached; b < full; ++b) {
      for (std::uint32_t g = 0; g < g_.count(); ++g) {
        if (r.lists[g][b] == 0) continue;
        content_[r.lists[g][b]] = {chain[b], g};
        cached_[{chain[b], g}].push_back(r.lists[g][b]);
      }
    }
    r.cached = std::max(r.cached, full);
  }

  void release(Request& r) {
    for (auto& list : r.lists) {
      std::vector<std::uint32_t> gone(list.rbegin(), list.rend());
      std::erase(gone, 0U);
      give_back(gone);
      list.clear();
    }
    r.cached = 0;
  }

 private:
  using Name = std::pair<std::uint32_t, std::uint32_t>;
  std::uint32_t blocks(std::uint32_t tokens) const {
    return (tokens + c_.block_tokens - 1) / c_.block_tokens;
  }
  std::uint32_t skipped(std::uint32_t computed) const {
    return computed + 1 > g_.window ? (computed + 1 - g_.window) / c_.block_tokens : 0;
  }
  std::uint32_t page_of(std::uint32_t block, std::uint32_t group) const {
    const auto it = cached_.find({block, group});
    return it == cached_.end() || it->second.empty() ? 0 : it->second.front();
  }
  void extend(Request& r, std::uint32_t to) {
    for (auto& list : r.lists) {
      while (list.size() < to) {
        const std::uint32_t page = free_.front();
        free_.pop_front();
        if (content_[page]) std::erase(cached_[*content_[page]], page);
        content_[page].reset();
        refs_[page] = 1;
        list.push_back(page);
      }
    }
  }
  /// `pages` in the order in which they leave first: unnamed ones go to the front as one list.
  void give_back(const std::vector<std::uint32_t>& pages) {
    std::vector<std::uint32_t> front;
    for (const std::uint32_t page : pages) {
      if (--refs_[page] > 0) continue;
      if (content_[page]) {
        free_.push_back(page);
      } else {
        front.push_back(page);
      }
    }
    free_.insert(free_.begin(), front.begin(), front.end());
  }

  const EngineConfig& c_;
  KvGroups g_;
  std::deque<std::uint32_t> free_;
  std::vector<std::uint32_t> refs_;
  std::vector<std::optional<Name>> content_;
  std::map<Name, std::vector<std::uint32_t>> cached_;
};

/// One random history: the same requests through both, page by page.
void run_history(std::uint64_t seed) {
  Stream rng(seed, "history");
  const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  const KvGroups groups{1 + draw(2), 1 + draw(3), 2 + draw(20), 4};
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint32_t prompt = 1 + draw(90);
    const std::uint32_t shared = std::min(draw(24), prompt / 4);
    std::vector<std::uint64_t> chain = ids(100 * draw(2), shared);
    const auto rest = ids(1000 + 100 * i, prompt / 4 - shared);
    chain.insert(chain.end(), rest.begin(), rest.end());
    rows.push_back({0, prompt, 1 + draw(40), chain});
  }
  const std::uint32_t pages = (30 + draw(60)) * groups.count();
  Rig rig(rows, groups, pages);
  Naive naive(rig.config, pages);
  std::vector<Naive::Request> mirror(rows.size(), naive.make());
  std::vector<std::vector<std::uint32_t>> chains(rows.size());
  std::vector<bool> loading(rows.size(), false);
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t blocks = (rows[i].input_tokens + rows[i].output_tokens) / 4;
    rig.chains.for_runs(RequestId{i}, 0, blocks, [&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t k = 0; k < count; ++k) chains[i].push_back(first + k);
      return true;
    });
  }
  for (int step = 0; step < 400; ++step) {
    CAPTURE(seed, step);
    const std::uint32_t i = draw(static_cast<std::uint32_t>(rows.size()));
    ActiveRequest& r = rig.request(i);
    Naive::Request& m = mirror[i];
    if (r.slots.empty()) {
      const std::uint32_t local = rig.blocks.find_local(r, rig.hits);
      REQUIRE(local == naive.find(chains[i], (r.tokens() - 1) / 4));
      const std::uint32_t most = (r.tokens() - 1) / 4 - local;
      const std::uint32_t external = draw(3) == 0 && most > 0 ? 1 + draw(most) : 0;
      const std::uint32_t known = (local + external) * 4;
      const std::uint32_t chunk = external > 0 ? 0 : std::min(1 + draw(32), r.tokens() - known);
      const bool fits =
          rig.blocks.admit(r, {known, chunk, external, 0, 0, external > 0}, rig.hits, kSomebody);
      REQUIRE(fits == naive.admit(m, chains[i], r.tokens(), known, chunk, external));
      if (!fits) continue;
      r.computed = known + chunk;
      loading[i] = external > 0;
    } else if (draw(8) == 0) {
      rig.release(i);
      naive.release(m);
      loading[i] = false;
    } else {
      if (loading[i]) {
        rig.blocks.register_full(r, r.computed);
        naive.cache(m, chains[i], r.computed, r.tokens());
        loading[i] = false;
      }
      if (r.computed == r.tokens() && r.generated + 1 < r.output) ++r.generated;
      if (r.computed == r.tokens()) continue;
      const std::uint32_t chunk = std::min(1 + draw(32), r.tokens() - r.computed);
      const bool fits = rig.blocks.grow(r, chunk, kSomebody);
      REQUIRE(fits == naive.grow(m, chains[i], r.computed, chunk, r.tokens()));
      if (fits) r.computed += chunk;
    }
    REQUIRE(rig.pool.free() == naive.free());
    REQUIRE(r.slots.size() == std::size_t{m.length()} * groups.count());
    for (std::uint32_t b = 0; b < m.length(); ++b) {
      for (std::uint32_t g = 0; g < groups.count(); ++g) {
        REQUIRE(raw(r.slots[b * groups.count() + g]) == m.lists[g][b]);
      }
    }
    std::uint64_t held = 0;
    for (std::uint32_t g = 0; g < groups.count(); ++g) held += rig.pages(i, g);
    REQUIRE(held <= most_pages(rig.config, r.tokens()));
  }
}

TEST_CASE("random histories end page by page where a naive allocator ends", "[models]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) run_history(seed);
}

}  // namespace
}  // namespace spillway::test
