// The sketch against exact counts.
#include "policies/containers/frequency_sketch.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::uint64_t kNoAgeing = ~std::uint64_t{0};

TEST_CASE("a frequency sketch counts a few ids exactly, up to 15", "[policies]") {
  FrequencySketch sketch(1024, kNoAgeing);
  CHECK(sketch.count(7) == 0);
  for (std::uint32_t id = 0; id < 20; ++id) {
    for (std::uint32_t use = 0; use < id; ++use) sketch.use(id);
  }
  for (std::uint32_t id = 0; id < 20; ++id) CHECK(sketch.count(id) == std::min(id, 15u));
}

TEST_CASE("a frequency sketch never counts too little, and seldom too much", "[policies]") {
  // As many ids as it is made for, used four times on average, in an order of no meaning.
  constexpr std::uint32_t kIds = 4096;
  FrequencySketch sketch(kIds, kNoAgeing);
  Stream random(1, "sketch");
  std::vector<std::uint32_t> exact(kIds, 0);
  for (std::uint32_t i = 0; i < 4 * kIds; ++i) {
    const auto id = static_cast<std::uint32_t>(random.below(kIds));
    sketch.use(id);
    ++exact[id];
  }
  std::uint32_t over = 0;
  for (std::uint32_t id = 0; id < kIds; ++id) {
    REQUIRE(sketch.count(id) >= std::min(exact[id], 15u));
    over += sketch.count(id) > exact[id] ? 1 : 0;
  }
  // A line of four rows of 32 counters holds eight ids on average: one shares its counter in all
  // rows with some of the seven others with (1 - (31/32)^7)^4 = 0.2^4 = 0.2 %. Uneven lines make
  // that more.
  CHECK(over < kIds / 50);
}

TEST_CASE("a frequency sketch halves all counts once the sample is full", "[policies]") {
  FrequencySketch sketch(1024, 10);
  for (int i = 0; i < 5; ++i) sketch.use(1);
  for (int i = 0; i < 4; ++i) sketch.use(2);
  CHECK(sketch.count(1) == 5);
  sketch.use(3);  // the tenth
  CHECK(sketch.count(1) == 2);
  CHECK(sketch.count(2) == 2);
  CHECK(sketch.count(3) == 0);
  // Five of the next sample are used up.
  for (int i = 0; i < 4; ++i) sketch.use(3);
  CHECK(sketch.count(3) == 4);
  sketch.use(3);
  CHECK(sketch.count(3) == 2);
}

TEST_CASE("a frequency sketch that grows forgets nothing", "[policies]") {
  FrequencySketch sketch(8, kNoAgeing);
  for (std::uint32_t id = 0; id < 64; ++id) sketch.use(id);
  std::vector<std::uint32_t> before;
  for (std::uint32_t id = 0; id < 64; ++id) before.push_back(sketch.count(id));
  sketch.grow(1000);
  for (std::uint32_t id = 0; id < 64; ++id) CHECK(sketch.count(id) == before[id]);
}

}  // namespace
}  // namespace spillway
