// Which engine blocks requests share. Trace blocks have 64 tokens, engine blocks 16: four in each.
#include "models/chains/chain_map.hpp"

#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

/// Ids of all full engine blocks of a request, prompt and output.
std::vector<std::uint32_t> ids_of(const ChainMap& map, const Workload& workload, std::uint32_t id) {
  const RequestId r{id};
  const std::uint32_t total = (workload.input_tokens(r) + workload.output_tokens(r)) / 16;
  std::vector<std::uint32_t> out;
  map.for_runs(r, 0, total, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(first + i);
    return true;
  });
  CHECK(out.size() == total);
  CHECK(std::set<std::uint32_t>(out.begin(), out.end()).size() == out.size());
  for (const std::uint32_t block : out) CHECK(block < map.block_count());
  return out;
}

/// How many leading blocks two requests of `turns` have in common, and that none behind these is.
std::size_t common(const std::vector<Turn>& turns, std::uint32_t a, std::uint32_t b) {
  const Workload workload = workload_of_turns(turns, 64);
  const ChainMap map(workload, 16);
  const auto left = ids_of(map, workload, a);
  const auto right = ids_of(map, workload, b);
  std::size_t same = 0;
  while (same < std::min(left.size(), right.size()) && left[same] == right[same]) ++same;
  const std::set<std::uint32_t> rest(right.begin(), right.end());
  for (std::size_t i = same; i < left.size(); ++i) CHECK(rest.count(left[i]) == 0);
  return same;
}

TEST_CASE("blocks of a prompt follow its chain, the rest is the request's own", "[models]") {
  // 150 tokens: 9 full engine blocks, all named by ceil(150 / 64) = 3 trace blocks; 8 + 1 of
  // another request's prompt that begins alike.
  CHECK(common({{0, 150, 40, {}, -1, {1, 2, 3}}, {9, 150, 40, {}, -1, {1, 2, 4}}}, 0, 1) == 8);
  CHECK(common({{0, 150, 40, {}, -1, {1, 2, 3}}, {9, 150, 40, {}, -1, {1, 2, 3}}}, 0, 1) == 9);
}

TEST_CASE("a chain may name the full trace blocks only", "[models]") {
  // floor(150 / 64) = 2 trace blocks name 8 engine blocks; the ninth is each request's own, though
  // the prompts may well be the same.
  CHECK(common({{0, 150, 40, {}, -1, {1, 2}}, {9, 150, 40, {}, -1, {1, 2}}}, 0, 1) == 8);
}

TEST_CASE("a request without a chain shares nothing", "[models]") {
  CHECK(common({{0, 150, 40}, {9, 150, 40}}, 0, 1) == 0);
}

TEST_CASE("an answer joins the prompt that waited for it", "[models]") {
  // 150 + 70 = 220 tokens: 13 full blocks, all inside the next prompt of 230 tokens, whose chain
  // names floor(230 / 64) = 3 trace blocks = 12 engine blocks. The 13th is in its tail: the earlier
  // request takes that id, too.
  const Turn first{0, 150, 70, {}, -1, {1, 2}};
  CHECK(common({first, {9, 230, 5, {0}, -1, {1, 2, 3}}}, 0, 1) == 13);
  // ceil: the partial block 9 of the first request is nobody else's and gives way.
  CHECK(common({{0, 150, 70, {}, -1, {1, 2, 9}}, {9, 230, 5, {0}, -1, {1, 2, 3, 4}}}, 0, 1) == 13);
}

TEST_CASE("an answer joins only what continues its prompt", "[models]") {
  const Turn first{0, 150, 70, {}, -1, {1, 2}};
  CHECK(common({first, {9, 230, 5, {}, -1, {1, 2, 3}}}, 0, 1) == 8);   // it did not wait
  CHECK(common({first, {9, 230, 5, {0}, -1, {1, 5, 3}}}, 0, 1) == 4);  // another prompt
  CHECK(common({first, {9, 219, 5, {0}, -1, {1, 2, 3}}}, 0, 1) == 8);  // 219 < 150 + 70
  CHECK(common({first, {9, 220, 5, {0}, -1, {1, 2, 3}}}, 0, 1) == 13);
  // No full trace block: nothing says that the prompts begin alike.
  CHECK(common({{0, 60, 70, {}, -1, {}}, {9, 140, 5, {0}, -1, {1, 2}}}, 0, 1) == 0);
}

TEST_CASE("a partial block that others name keeps its name", "[models]") {
  // Trace block 9 (tokens 128 to 150) names engine block 8 of requests 0 and 1. Request 2 waits for
  // 0 and has block 3 there: its first 8 blocks are common, the ninth is not, those behind are
  // request 2's again.
  const std::vector<Turn> turns = {{0, 150, 70, {}, -1, {1, 2, 9}},
                                   {1, 150, 1, {}, -1, {1, 2, 9}},
                                   {9, 230, 5, {0}, -1, {1, 2, 3, 4}}};
  const Workload workload = workload_of_turns(turns, 64);
  const ChainMap map(workload, 16);
  const auto zero = ids_of(map, workload, 0);
  const auto one = ids_of(map, workload, 1);
  const auto two = ids_of(map, workload, 2);
  CHECK(zero[8] == one[8]);
  CHECK(zero[8] != two[8]);
  for (std::size_t i = 9; i < 13; ++i) CHECK(zero[i] == two[i]);
}

TEST_CASE("the first that qualifies continues a request", "[models]") {
  // 1 does not continue 0, 2 does; 3 would, but comes later: it has 2's first twelve blocks by its
  // own chain, and its own tail.
  const std::vector<Turn> turns = {{0, 150, 70, {}, -1, {1, 2}},
                                   {1, 230, 5, {0}, -1, {7, 8, 9}},
                                   {2, 230, 5, {0}, -1, {1, 2, 3}},
                                   {3, 250, 5, {0}, -1, {1, 2, 3}}};
  CHECK(common(turns, 0, 1) == 0);
  CHECK(common(turns, 0, 2) == 13);
  CHECK(common(turns, 0, 3) == 12);
}

TEST_CASE("a prompt contains one answer at one place: the longest history's", "[models]") {
  // 2 waits for 0 and 1, both of which it could continue.
  const std::vector<Turn> turns = {{0, 130, 30, {}, -1, {1, 2}},
                                   {1, 130, 60, {}, -1, {1, 2}},
                                   {2, 230, 5, {0, 1}, -1, {1, 2, 3}}};
  CHECK(common(turns, 0, 2) == 8);
  CHECK(common(turns, 1, 2) == 11);  // floor(190 / 16)
}

TEST_CASE("answers join through several turns within one trace block", "[models]") {
  // All turns but the last lie within the first two trace blocks and name only the first. 65 + 16 =
  // 81 tokens: 5 blocks; 85 + 16 = 101: 6; both are prefixes of the last prompt, whose chain names
  // 128 tokens.
  const std::vector<Turn> turns = {
      {0, 65, 16, {}, -1, {1}}, {1, 85, 16, {0}, -1, {1}}, {2, 130, 16, {1}, -1, {1, 2}}};
  CHECK(common(turns, 0, 1) == 5);
  CHECK(common(turns, 0, 2) == 5);
  CHECK(common(turns, 1, 2) == 6);
}

TEST_CASE("requests that are joined need no ids of their own", "[models]") {
  // Trace blocks 1, 2, 3 hold 12 engine blocks. Request 1 has 235 / 16 = 14 blocks in all: two of
  // its own. Request 0 adds none.
  const Workload workload =
      workload_of_turns({{0, 150, 70, {}, -1, {1, 2}}, {9, 230, 5, {0}, -1, {1, 2, 3}}}, 64);
  const ChainMap map(workload, 16);
  CHECK(map.block_count() == 14);
  CHECK(map.joined() == 1);
}

TEST_CASE("a run that is cut short stops at the right block", "[models]") {
  const Workload workload =
      workload_of_turns({{0, 150, 70, {}, -1, {1, 2}}, {9, 230, 5, {0}, -1, {1, 2, 3}}}, 64);
  const ChainMap map(workload, 16);
  const auto whole = ids_of(map, workload, 0);
  for (std::uint32_t from = 0; from <= 13; ++from) {
    for (std::uint32_t to = from; to <= 13; ++to) {
      std::vector<std::uint32_t> part;
      map.for_runs(RequestId{0}, from, to, [&](std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) part.push_back(first + i);
        return true;
      });
      CHECK(part == std::vector<std::uint32_t>(whole.begin() + from, whole.begin() + to));
    }
  }
}

TEST_CASE("engine blocks larger than trace blocks join as well", "[models]") {
  // Engine blocks of 48 over trace blocks of 16. 100 + 60 = 160 tokens: 3 blocks of 48, of which
  // the chain of 6 trace blocks (96 tokens) names 2; the next prompt's chain names all three.
  std::vector<std::uint64_t> six = {1, 2, 3, 4, 5, 6};
  std::vector<std::uint64_t> eleven = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Workload workload =
      workload_of_turns({{0, 100, 60, {}, -1, six}, {1, 180, 1, {0}, -1, eleven}}, 16);
  const ChainMap map(workload, 48);
  const auto ids = [&](std::uint32_t r) {
    std::vector<std::uint32_t> out;
    map.for_runs(RequestId{r}, 0, 3, [&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) out.push_back(first + i);
      return true;
    });
    return out;
  };
  CHECK(ids(0) == ids(1));
}

}  // namespace
}  // namespace spillway::test
