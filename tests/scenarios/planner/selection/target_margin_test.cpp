// How far figures are from their targets: the sign says whether they are met.
#include "scenarios/planner/selection/target_margin.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("the margin is the distance to a target as a share of it", "[scenarios][planner]") {
  CHECK(target_margin({750, 1000, false, 0.005, 0.01, true}) == Approx(0.25));
  CHECK(target_margin({1500, 1000, false, 0.04, 0.01, false}) == Approx(-0.5));
  // At least 10 a second, and 12.
  CHECK(target_margin({12, 10, true, 12, 10, true}) == Approx(0.2));
}

TEST_CASE("the sign of a margin is what the share of requests says", "[scenarios][planner]") {
  // 3% have no first token at all, and the others are fast: 1% may miss, so it is twice too much.
  CHECK(target_margin({750, 1000, false, 0.03, 0.01, false}) == Approx(-2));
  // The mean of ten p99s is above the target, while 0.8% of all requests are.
  CHECK(target_margin({1020, 1000, false, 0.008, 0.01, true}) == Approx(0.2));
}

TEST_CASE("a target of nothing is met or missed", "[scenarios][planner]") {
  CHECK(target_margin({0, 0, false, 0, 0, true}) == 0);
  CHECK(target_margin({0.1, 0, false, 0.1, 0, false}) == -1);
}

}  // namespace
}  // namespace spillway::test
