// How many slow requests come as one, on runs with queues of a known size.
#include "scenarios/planner/selection/clusters.hpp"

#include <vector>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Queues of `size` requests beyond `level` and all below it, that begin at random; a share of
/// `share` is in them.
std::vector<CellSample> runs_with(double size, double share, std::size_t level, int runs,
                                  std::uint32_t requests) {
  std::vector<CellSample> out;
  for (int run = 0; run < runs; ++run) {
    Stream places(5, "clusters", static_cast<std::uint64_t>(run));
    CellSample sample{{0}, {static_cast<double>(requests)}};
    sample.ladder.emplace_back(kLadderLevels * kLadderParts, 0);
    const double gap = size / share;
    for (double at = places.exponential(gap); at < requests; at += places.exponential(gap)) {
      for (double i = 0; i < size && at + i < requests; ++i) {
        const auto part = static_cast<std::size_t>((at + i) / requests * kLadderParts);
        for (std::size_t k = level; k < kLadderLevels; ++k) {
          ++sample.ladder[0][k * kLadderParts + part];
        }
      }
    }
    out.push_back(std::move(sample));
  }
  return out;
}

TEST_CASE("requests that are slow by themselves count as one each", "[scenarios][planner]") {
  const auto found = clusters_of(runs_with(1, 0.01, 0, 40, 20000), 0, 0.01);
  REQUIRE(found);
  CHECK(found->size >= 1);
  CHECK(found->size < 1.7);  // the longer of two parts says, and its error is added
  CHECK(found->penalty == 1);
}

TEST_CASE("queues of forty count as one each", "[scenarios][planner]") {
  const auto found = clusters_of(runs_with(40, 0.01, 0, 40, 20000), 0, 0.01);
  REQUIRE(found);
  CHECK(found->size > 36);
  CHECK(found->size < 60);
  CHECK(found->penalty == 1);
  CHECK(found->start < 1.01);
}

TEST_CASE("where nobody misses, queues below the limit tell, with care", "[scenarios][planner]") {
  // Beyond seven tenths of the target 2% are in queues of ten, beyond the target nobody.
  const auto found = clusters_of(runs_with(10, 0.02, 3, 40, 20000), 0, 0.01);
  REQUIRE(found);
  CHECK(found->size > 10);
  CHECK(found->size < 16);
  CHECK_FALSE(clusters_of(runs_with(10, 0, 3, 40, 20000), 0, 0.01));
}

TEST_CASE("runs that are hardly longer than a queue do not show how large it is",
          "[scenarios][planner]") {
  const auto found = clusters_of(runs_with(400, 0.1, 0, 40, 2000), 0, 0.01);
  REQUIRE(found);
  CHECK(found->penalty > 2);
  CHECK(found->effective() > 800);
  CHECK(found->start > 1.3);
}

TEST_CASE("runs without parts tell nothing", "[scenarios][planner]") {
  CHECK_FALSE(clusters_of(std::vector<CellSample>{CellSample{{0.5}, {2000}}}, 0, 0.01));
  std::vector<CellSample> cut = runs_with(10, 0.02, 0, 3, 2000);
  for (CellSample& run : cut) run.cut = true;
  CHECK_FALSE(clusters_of(cut, 0, 0.01));
}

}  // namespace
}  // namespace spillway::test
