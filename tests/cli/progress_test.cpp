// What progress says of work that is under way.
#include "scenarios/commands/progress.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("durations are told in the units that one waits in", "[cli]") {
  CHECK(duration_text(0.2) == "0 s");
  CHECK(duration_text(59.4) == "59 s");
  CHECK(duration_text(59.6) == "1 min 0 s");
  CHECK(duration_text(200) == "3 min 20 s");
  CHECK(duration_text(1234) == "21 min");
  CHECK(duration_text(7500) == "2 h 5 min");
}

TEST_CASE("progress has count, rate and time left", "[cli]") {
  // 10 of 50 were done when it began; 20 more in 10 s: 2 a second, 20 to go.
  const ProgressState state = {10, 30, 50, 10};
  CHECK(state.rate() == 2);
  CHECK(state.seconds_left() == 10);
  CHECK(progress_line("planning", "runs", state) == "planning: 30/50 runs, 2.00 runs/s, 10 s left");
}

TEST_CASE("what is not known yet is not told", "[cli]") {
  CHECK(progress_line("reading", "MB", {0, 0, 0, 0}) == "reading: 0 MB");
  CHECK(progress_line("reading", "MB", {0, 40, 0, 4}) == "reading: 40 MB, 10.0 MB/s");
  CHECK(progress_line("planning", "runs", {1, 1, 70, 3}) == "planning: 1/70 runs");
  // More than was expected: nothing is left, not a negative time.
  CHECK(progress_line("planning", "runs", {0, 80, 70, 8}) ==
        "planning: 80/70 runs, 10.0 runs/s, 0 s left");
}

}  // namespace
}  // namespace spillway
