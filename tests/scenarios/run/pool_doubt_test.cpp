// An estimate of HBM's blocks on a cliff: a tenth fewer, and nothing is found again.
#include "scenarios/run/pool_doubt.hpp"

#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// No tier; six documents of 32 blocks in turn, 193 blocks and a null block.
std::optional<Note> doubt_with(std::uint32_t blocks, bool estimated) {
  Scenario s = reference_with(
      {"plan=null", "tiers=null", "links=null", fmt::format("engine.num_gpu_blocks={}", blocks)});
  s.pool_estimated = estimated;
  const Workload workload = repeating(50, 6, 1000, 1);
  return pool_doubt(s, workload, simulate(s, workload).result);
}

TEST_CASE("a pool that just holds what repeats is on a cliff", "[scenarios][run]") {
  // 200 blocks hold all six documents, 180 five and a half: by LRU, each has lost its end when it
  // comes again.
  const auto note = doubt_with(201, true);
  REQUIRE(note);
  CHECK(figure(*note, "blocks") == 200);
  // 2.32256 ms where the prompt is found (its last block is computed), 12.24256 ms where it is
  // computed; six are, at first.
  CHECK(figure(*note, "more_ms") == Approx((44 * 2.32256 + 6 * 12.24256) / 50));
  CHECK(figure(*note, "fewer_ms") > 1.5 * figure(*note, "here_ms"));
  // Of the two figures, the one that moves more.
  CHECK_THAT(note->text, !ContainsSubstring("tokens/s"));
}

TEST_CASE("a pool that is given, or far from any cliff, is in no doubt", "[scenarios][run]") {
  CHECK_FALSE(doubt_with(201, false));
  CHECK_FALSE(doubt_with(401, true));  // twice what there is
  CHECK_FALSE(doubt_with(81, true));   // two documents of six
}

}  // namespace
}  // namespace spillway::test
