// Tables of chunks: which chunk leaves next, what keeps one from leaving, whose room is whose.
#include "models/engine/connectors/chunks/chunk_table.hpp"

#include <set>

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Three chunks of ten bytes, in the order 1, 2, 3; then 1 is used twice and 2 once.
ChunkTable filled(ChunkOrder order) {
  ChunkTable table(Bytes(30), order);
  for (const std::uint32_t id : {1U, 2U, 3U}) {
    const ChunkSlot slot = table.take(Bytes(10));
    table.name(slot, ChunkId{id});
    table.done(slot);
  }
  for (const std::uint32_t id : {1U, 1U, 2U}) table.touch(table.find(ChunkId{id}));
  return table;
}

std::vector<std::uint32_t> leaving(ChunkOrder order) {
  ChunkTable table = filled(order);
  std::vector<std::uint32_t> out;
  std::set<std::uint32_t> there = {1, 2, 3};
  while (table.evict()) {
    for (const std::uint32_t id : std::set<std::uint32_t>(there)) {
      if (table.has(ChunkId{id})) continue;
      out.push_back(id);
      there.erase(id);
    }
  }
  return out;
}

TEST_CASE("chunks leave in the order of their policy", "[models]") {
  using Ids = std::vector<std::uint32_t>;
  CHECK(leaving(ChunkOrder::kLru) == Ids{3, 1, 2});   // used last: 3 when it came, 1, then 2
  CHECK(leaving(ChunkOrder::kLfu) == Ids{3, 2, 1});   // once, twice, three times
  CHECK(leaving(ChunkOrder::kFifo) == Ids{1, 2, 3});  // uses do not count
  CHECK(leaving(ChunkOrder::kMru) == Ids{2, 1, 3});
  CHECK(leaving(ChunkOrder::kNone).empty());
  CHECK(leaving(ChunkOrder::kRandom).size() == 3);
  CHECK(leaving(ChunkOrder::kRandom) == leaving(ChunkOrder::kRandom));
}

TEST_CASE("a chunk that is pinned or used stays, and room is made by the others", "[models]") {
  ChunkTable table = filled(ChunkOrder::kLru);
  table.pin(table.find(ChunkId{3}));
  table.use(table.find(ChunkId{1}));
  CHECK(table.take_evicting(Bytes(10)) != kNoChunkSlot);  // 2 leaves
  CHECK_FALSE(table.has(ChunkId{2}));
  CHECK(table.take_evicting(Bytes(10)) == kNoChunkSlot);
  CHECK(table.used() == Bytes(30));
  CHECK(table.evicted() == 1);
}

TEST_CASE("what has left while it was used gives its room back when it is done", "[models]") {
  ChunkTable table(Bytes(10), ChunkOrder::kLru);
  const ChunkSlot slot = table.take(Bytes(10));
  table.name(slot, ChunkId{7}, true);
  CHECK_FALSE(table.has(ChunkId{7}));  // being written
  CHECK(table.find(ChunkId{7}) == slot);
  table.written(slot);
  CHECK(table.has(ChunkId{7}));
  table.drop(slot);  // by its owner, while the writer still holds it
  CHECK_FALSE(table.fits(Bytes(1)));
  table.done(slot);
  CHECK(table.fits(Bytes(10)));
}

}  // namespace
}  // namespace spillway::test
