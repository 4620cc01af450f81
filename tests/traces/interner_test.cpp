// The interner: dense ids in order of first appearance, for any 64-bit hashes.
#include "traces/interner.hpp"

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

}  // namespace
}  // namespace spillway
