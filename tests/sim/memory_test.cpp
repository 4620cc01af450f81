// What is large is counted before it is touched, and refused where the system has less.
#include "sim/memory.hpp"

#include "sim/growing_column.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

MemoryState pretended{};  // of the machine that a test runs on

/// The program watches for good; a test gives up watching.
struct Watched {
  explicit Watched(const MemoryState& state) {
    pretended = state;
    watch_memory([] { return pretended; });
  }
  ~Watched() { watch_memory(nullptr); }
};

TEST_CASE("nothing is refused, nor estimated, where nobody watches", "[sim]") {
  const MemoryClaim claim(std::size_t{1} << 60);
  CHECK(memory_estimate() == 0);
}

TEST_CASE("a claim that fits is counted while it lives, one that does not is refused", "[sim]") {
  const Watched machine({1000 * kMiB, 0, 10 * kMiB});
  const std::int64_t before = memory_estimate();
  {
    const MemoryClaim first(600 * kMiB);
    // None of it is touched yet, so the machine still says 1,000: 600 + 500 do not fit in that.
    CHECK_THROWS_AS(MemoryClaim(500 * kMiB), MemoryShort);
    pretended = {400 * kMiB, 0, 610 * kMiB};  // the first is touched now
    const MemoryClaim second(300 * kMiB);
  }
  CHECK(memory_estimate() == before + 900 * kMiB);
  pretended = {1000 * kMiB, 0, 10 * kMiB};
  const MemoryClaim third(900 * kMiB);  // both were given back
  CHECK(memory_estimate() == before + 900 * kMiB);
}

TEST_CASE("the most that was there at once is counted from when one watches", "[sim]") {
  { const MemoryClaim earlier(std::size_t{1} << 50); }
  const Watched machine({1000 * kMiB, 0, 10 * kMiB});
  CHECK(memory_estimate() < 1000 * kMiB);
}

TEST_CASE("the refusal says how much is missing", "[sim]") {
  const Watched machine({1000 * kMiB, 0, 10 * kMiB});
  try {
    const MemoryClaim claim(std::size_t{3} << 30);
    FAIL("3 GiB were granted");
  } catch (const MemoryShort& refused) {
    CHECK(std::string(refused.what()) ==
          "out of memory: 3.0 GiB more are needed, 1000 MiB are free (machine, cgroup, ulimit -v)");
  }
}

TEST_CASE("small pieces count once they are a large one together", "[sim]") {
  const Watched machine({1000 * kMiB, 0, 0});
  const std::int64_t before = memory_estimate();
  MemoryClaim claim(0);
  claim.grow(kLargePiece - 1);
  CHECK(memory_estimate() == before);
  claim.grow(1);
  CHECK(memory_estimate() == before + static_cast<std::int64_t>(kLargePiece));
}

TEST_CASE("a mapped file counts and is never refused", "[sim]") {
  const Watched machine({1 * kMiB, 0, 0});
  const std::int64_t before = memory_estimate();
  map_memory(std::size_t{5} << 30);
  CHECK(memory_estimate() == before + (std::int64_t{5} << 30));
  unmap_memory(std::size_t{5} << 30);
}

TEST_CASE("a column grows by a quarter, keeps what it holds, and gives all of it back", "[sim]") {
  const Watched machine({1000 * kMiB, 0, 0});
  const std::int64_t before = memory_estimate();
  {
    GrowingColumn<std::uint32_t> column;
    for (std::uint32_t i = 0; i < 10'000'000; ++i) column.push_back(i);  // 40 MB
    std::uint32_t next = 10'000'000;
    for (std::uint32_t& value : column.append(5)) value = next++;
    bool kept = column.size() == 10'000'005;
    for (std::uint32_t i = 0; i < column.size(); ++i) kept = kept && column[i] == i;
    CHECK(kept);
    GrowingColumn<std::uint32_t> moved = std::move(column);
    CHECK(moved.size() == 10'000'005);
    CHECK(memory_estimate() - before >= 40'000'020);
    CHECK(memory_estimate() - before <= 50'000'025);  // at most a quarter more
  }
  pretended.free = 45 * kMiB;
  const MemoryClaim all(44 * kMiB);  // the column's memory is back
}

TEST_CASE("a column that may not grow is as it was", "[sim]") {
  const Watched machine({40 * kMiB, 0, 0});
  GrowingColumn<std::uint32_t> column;
  const auto fill = [&] {
    for (std::uint32_t i = 0; i < 100'000'000; ++i) column.push_back(i);
  };
  CHECK_THROWS_AS(fill(), MemoryShort);
  const std::size_t held = column.size();
  CHECK(held > 1'000'000);
  CHECK(column[held - 1] == held - 1);
}

}  // namespace
}  // namespace spillway
