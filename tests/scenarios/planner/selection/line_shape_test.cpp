// Isotonic fits along a line of sizes, by hand.
#include "scenarios/planner/selection/line_shape.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("neighbours in the wrong order share their mean", "[scenarios][planner]") {
  // 3 then 1 become 2 and 2; then 1.9 joins them: 5.9 / 3. 5 stays.
  const std::vector<ShapePoint> line = {{0, 1}, {3, 1}, {1, 1}, {1.9, 1}, {5, 1}};
  const std::vector<double> fit = isotonic_fit(line);
  const double shared = 5.9 / 3;
  REQUIRE(fit.size() == 5);
  CHECK(fit[0] == 0);
  for (int i = 1; i < 4; ++i) CHECK(fit[static_cast<std::size_t>(i)] == Approx(shared));
  CHECK(fit[4] == 5);
}

TEST_CASE("a point with half the error pulls four times as hard", "[scenarios][planner]") {
  // (4 x 3 + 1 x 1) / 5
  const std::vector<ShapePoint> line = {{3, 0.5}, {1, 1}};
  CHECK(isotonic_fit(line)[0] == Approx(2.6));
  CHECK(isotonic_fit(line)[1] == Approx(2.6));
}

TEST_CASE("a fall within the errors leaves a line monotone, a larger one does not",
          "[scenarios][planner]") {
  // Errors of 1 and 1: a difference of 2 is 1.4 of its standard errors, 5 is 3.5.
  CHECK(is_monotone(std::vector<ShapePoint>{{0, 1}, {4, 1}, {2, 1}}));
  CHECK_FALSE(is_monotone(std::vector<ShapePoint>{{0, 1}, {7, 1}, {2, 1}}));
  CHECK(is_monotone(std::vector<ShapePoint>{}));
}

}  // namespace
}  // namespace spillway::test
