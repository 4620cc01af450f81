// Ratios on grids and along curves: which points decide, which are left out.
#include "models/calibration/ratio_fit.hpp"

#include "models/compute/ratio_grid.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("a crossing takes the median of its points, a hole its neighbours", "[models]") {
  // Two axes and a third of one value. Nothing was measured at (4, 10).
  const std::vector<RatioPoint> points = {
      {{1, 10, 0}, 1, 1},  {{1, 10, 0}, 2, 1},  {{1, 10, 0}, 8, 1},  {{16, 10, 0}, 8, 1},
      {{1, 100, 0}, 3, 1}, {{4, 100, 0}, 3, 1}, {{16, 100, 0}, 3, 1}};
  const RatioGrid grid = fit_grid(points, {1.1, 1.1, 1.1}, {0, 1, 2});
  CHECK(grid.axes == std::vector<std::vector<double>>{{1, 4, 16}, {10, 100}, {1}});
  // 4 stands half-way from 1 to 16 in logarithms: sqrt(2 x 8) = 4.
  CHECK(grid.ratios == std::vector<double>{2, 3, 4, 3, 8, 3});
  CHECK(RatioTable(grid).at({2, 10, 0}) == Approx(2.828).epsilon(1e-3));
}

TEST_CASE("points of little weight decide nothing", "[models]") {
  const std::vector<RatioPoint> points = {
      {{1, 1, 1}, 1, 1}, {{1, 1, 1}, 9, 0.1}, {{1, 1, 1}, 9, 0.2}};
  CHECK(fit_grid(points, {1.1, 1.1, 1.1}, {0, 1, 2}).ratios == std::vector<double>{1});
  CHECK(fit_grid({}, {1.1, 1.1, 1.1}, {0, 1, 2}).empty());
}

TEST_CASE("near duplicates share a value of an axis", "[models]") {
  CHECK(thinned({20, 1, 10, 11, 12, 1}, 1.18) == std::vector<double>{1, 10, 12, 20});
  CHECK(thinned({}, 1.18).empty());
}

TEST_CASE("a curve keeps its steps and leaves out what a line tells", "[models]") {
  const std::vector<double> x = {0, 1, 2, 3, 4, 5};
  const std::vector<double> y = {0, 0.01, -0.01, 0, 1, 1.02};
  CHECK(kept_points(x, y, 0.05) == std::vector<std::size_t>{0, 3, 4, 5});
  CHECK(kept_points(x, y, 2) == std::vector<std::size_t>{0, 5});
  CHECK(kept_points({}, {}, 1).empty());
}

TEST_CASE("numbers of a profile have few digits", "[models]") {
  CHECK(rounded(0.0123456) == 0.01235);
  CHECK(rounded(123456) == 123500);
  CHECK(rounded(-2.00049) == -2);
  CHECK(rounded(0) == 0);
  CHECK(kept_ratio(1e-9) == 1e-3);
  CHECK(kept_ratio(0.98765) == 0.988);
}

}  // namespace
}  // namespace spillway
