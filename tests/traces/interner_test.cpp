// The interner: dense ids in order of first appearance, for any 64-bit hashes.
#include "traces/interner.hpp"

#include <algorithm>
#include <unordered_map>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("ids are dense and numbered by first appearance", "[traces]") {
  Interner interner;
  CHECK(interner.size() == 0);
  CHECK(interner.intern(900) == 0);
  CHECK(interner.intern(5) == 1);
  CHECK(interner.intern(900) == 0);
  CHECK(interner.intern(0) == 2);
  CHECK(interner.size() == 3);
}

TEST_CASE("the extremes of 64 bits are ordinary hashes", "[traces]") {
  Interner interner;
  const std::uint64_t most = ~std::uint64_t{0};
  CHECK(interner.intern(most) == 0);
  CHECK(interner.intern(most - 1) == 1);
  CHECK(interner.intern(std::uint64_t{1} << 63) == 2);
  CHECK(interner.intern(0) == 3);
  CHECK(interner.intern(most) == 0);
}

TEST_CASE("growing keeps every id", "[traces]") {
  // 100,000 hashes pass through five doublings of the initial 4,096 slots.
  Interner interner;
  for (std::uint64_t i = 0; i < 100'000; ++i) interner.intern(i * 0x10001);
  bool kept = true;
  for (std::uint64_t i = 0; i < 100'000; ++i) kept = kept && interner.intern(i * 0x10001) == i;
  CHECK(kept);
  CHECK(interner.size() == 100'000);
}

TEST_CASE("hashes that differ in high bits only are kept apart", "[traces]") {
  Interner interner;
  for (std::uint64_t i = 0; i < 5'000; ++i) interner.intern(i << 44);
  CHECK(interner.size() == 5'000);
}

TEST_CASE("a random history equals a hash map's", "[traces]") {
  Interner interner;
  std::unordered_map<std::uint64_t, std::uint32_t> model;
  Stream random(1, "interner");
  bool same = true;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t hash = mix64(random.below(30'000));
    const auto known = model.try_emplace(hash, static_cast<std::uint32_t>(model.size())).first;
    same = same && interner.intern(hash) == known->second;
  }
  CHECK(same);
  CHECK(interner.size() == model.size());
}

TEST_CASE("a hash is found exactly when it has been interned", "[traces]") {
  Interner interner;
  for (std::uint64_t i = 0; i < 10'000; ++i) interner.intern(mix64(i));
  bool found = true;
  bool absent = true;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    found = found && interner.find(mix64(i)) == i;
    absent = absent && !interner.find(mix64(i + 10'000));
  }
  CHECK(found);
  CHECK(absent);
  CHECK(interner.size() == 10'000);
}

/// The inverse of mix64.
std::uint64_t unmixed(std::uint64_t x) {
  x ^= (x >> 31) ^ (x >> 62);
  x *= 0x319642b2d24d8ec3ULL;
  x ^= (x >> 27) ^ (x >> 54);
  x *= 0x96de1b173f119089ULL;
  return x ^ (x >> 30) ^ (x >> 60);
}

TEST_CASE("hashes that share their slot and their tag are kept apart", "[traces]") {
  // A table of 4,096 slots knows 12 low bits and 20 high ones of a mixed hash; these differ
  // between.
  Interner interner;
  const auto alike = [](std::uint64_t i) {
    return unmixed(7 | (i << 12) | (std::uint64_t{9} << 44));
  };
  REQUIRE(mix64(alike(3)) == (7 | (3 << 12) | (std::uint64_t{9} << 44)));
  for (std::uint32_t i = 0; i < 40; ++i) REQUIRE(interner.intern(alike(i)) == i);
  for (std::uint32_t i = 40; i-- > 0;) REQUIRE(interner.intern(alike(i)) == i);
}

TEST_CASE("interning many at once is interning one by one", "[traces]") {
  Interner one;
  Interner many;
  Stream random(2, "interner");
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> hashes;
    for (std::uint64_t i = random.below(60); i > 0; --i) hashes.push_back(random.below(5'000));
    std::vector<std::uint32_t> expected;
    for (const std::uint64_t hash : hashes) expected.push_back(one.intern(hash));
    std::vector<std::uint32_t> ids;
    many.intern_all(hashes, [&](std::uint32_t id) { ids.push_back(id); });
    REQUIRE(ids == expected);
  }
}

TEST_CASE("a column of chains is cleared without its names", "[traces]") {
  ChainColumn column;
  const std::vector<std::uint64_t> chain = {50, 60, 50};
  column.add(chain);
  CHECK(column.size() == 3);
  const std::vector<TraceBlockId> expected{TraceBlockId{0}, TraceBlockId{1}, TraceBlockId{0}};
  CHECK(std::ranges::equal(column.ids(), expected));
  column.clear();
  CHECK(column.size() == 0);
  column.add(std::vector<std::uint64_t>{60, 70});
  const std::vector<TraceBlockId> later{TraceBlockId{1}, TraceBlockId{2}};
  CHECK(std::ranges::equal(column.ids(), later));
  CHECK(column.unique_blocks() == 3);
}

TEST_CASE("blocks without a name get the next number, and nobody else gets it", "[traces]") {
  // Requests of blocks 7, 8; of three that nobody names; of 7, 8, 9; of one; of 9.
  ChainColumn column;
  const std::uint64_t names[] = {7, 8, 9};
  column.add(std::span(names).first(2));
  column.add({}, 3);
  column.add(names);
  column.add({}, 1);
  column.add(std::span(names).last(1));
  std::vector<std::uint32_t> ids;
  for (const TraceBlockId id : column.ids()) ids.push_back(raw(id));
  CHECK(ids == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 0, 1, 5, 6, 5});
  CHECK(column.unique_blocks() == 7);
  CHECK(column.size() == 10);
}

}  // namespace
}  // namespace spillway
