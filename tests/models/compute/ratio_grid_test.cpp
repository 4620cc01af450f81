// Ratios of measured to formula times: what a look-up gives at, between and beyond what was
// measured.
#include "models/compute/ratio_grid.hpp"

#include <cmath>

#include "tests/support/allocations.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a grid gives back what it holds", "[models][compute]") {
  const RatioTable table(RatioGrid{{{1, 16, 256}, {64, 4096}}, {1.1, 1.2, 1.3, 1.4, 1.5, 1.6}});
  CHECK(table.at({1, 64}) == Approx(1.1));
  CHECK(table.at({1, 4096}) == Approx(1.2));
  CHECK(table.at({16, 64}) == Approx(1.3));
  CHECK(table.at({256, 4096}) == Approx(1.6));
}

TEST_CASE("between two values the logarithms are interpolated", "[models][compute]") {
  const RatioTable table(RatioGrid{{{1, 16}}, {1, 4}});
  // 4 is half way from 1 to 16 by its logarithm, and 2 half way from 1 to 4.
  CHECK(table.at({4}) == Approx(2));
  const RatioTable square(RatioGrid{{{1, 16}, {1, 16}}, {1, 2, 2, 8}});
  // Of log2 0, 1, 1, 3 the mean is 5/4.
  CHECK(square.at({4, 4}) == Approx(std::exp2(1.25)));
}

TEST_CASE("the edge of a grid holds, and 0 counts as 1", "[models][compute]") {
  const RatioTable table(RatioGrid{{{1, 16}}, {0.5, 2}});
  CHECK(table.at({0}) == Approx(0.5));
  CHECK(table.at({0.25}) == Approx(0.5));
  CHECK(table.at({1e9}) == Approx(2));
  const RatioTable one(RatioGrid{{{7}, {1, 16}}, {0.5, 2}});
  CHECK(one.at({1000, 16}) == Approx(2));  // an axis of one value says nothing
}

TEST_CASE("an empty grid is 1 everywhere", "[models][compute]") {
  CHECK(RatioTable().at({3, 4}) == 1);
  CHECK(RatioTable(RatioGrid{}).fixed(2, 8).at({3, 4}) == 1);
}

TEST_CASE("fixing an argument leaves a grid over the others", "[models][compute]") {
  RatioGrid grid{{{1, 4}, {2, 8, 32}, {1, 64}}, {}};
  for (int i = 0; i < 12; ++i) grid.ratios.push_back(0.5 + 0.1 * i);
  const RatioTable table(grid);
  for (const double x : {1.0, 3.0, 9.0}) {
    for (const double y : {1.0, 5.0, 20.0}) {
      for (const double z : {0.0, 8.0, 64.0}) {
        const double all = table.at({x, y, z});
        CHECK(table.fixed(0, x).at({y, z}) == Approx(all));
        CHECK(table.fixed(1, y).at({x, z}) == Approx(all));
        CHECK(table.fixed(2, z).at({x, y}) == Approx(all));
        CHECK(table.fixed(2, z).fixed(0, x).at({y}) == Approx(all));
      }
    }
  }
}

TEST_CASE("a look-up allocates nothing", "[models][compute]") {
  const RatioTable table(RatioGrid{{{1, 4}, {2, 8}}, {1, 2, 3, 4}});
  const std::vector<ProductCurve> curves = {{64, 64, {1, 8}, {1, 2}}};
  const ProductRatio product(curves, 128, 64);
  const std::uint64_t before = allocations();
  double sum = 0;
  for (int i = 1; i < 100; ++i) sum += table.at({double(i), 3}) + product.at(i);
  CHECK(sum > 0);
  CHECK(allocations() == before);
}

TEST_CASE("a measured shape of product counts alone", "[models][compute]") {
  const std::vector<ProductCurve> curves = {{4096, 4096, {1, 64}, {1.5, 1.0}},
                                            {4096, 4097, {1}, {9}}};
  const ProductRatio ratio(curves, 4096, 4096);
  CHECK(ratio.distance() == 0);
  CHECK(ratio.at(1) == Approx(1.5));
  CHECK(ratio.at(8) == Approx(std::sqrt(1.5)));
  CHECK(ratio.at(1000) == Approx(1));
}

TEST_CASE("other shapes take their neighbours' ratios by distance", "[models][compute]") {
  // ln 2 and 2 ln 2 away: weights 1 and 1/16, so log2 of the ratio is (1 x 16 + 3 x 1) / 17.
  const std::vector<ProductCurve> curves = {{512, 1024, {1}, {2}}, {512, 8192, {1}, {8}}};
  const ProductRatio ratio(curves, 512, 2048);
  CHECK(ratio.distance() == Approx(std::log(2)));
  CHECK(ratio.at(5) == Approx(std::exp2(19.0 / 17)));
  // Half way between them both count the same: the geometric mean.
  CHECK(ProductRatio(curves, 512, 1024 * std::sqrt(8)).at(1) == Approx(4));
}

TEST_CASE("only the six nearest shapes count", "[models][compute]") {
  std::vector<ProductCurve> curves;
  for (int i = 1; i <= 7; ++i) curves.push_back({std::exp2(i), 1024, {1}, {i == 7 ? 100.0 : 1.0}});
  CHECK(ProductRatio(curves, 1, 1024).at(1) == Approx(1));
}

TEST_CASE("without curves a product's ratio is 1", "[models][compute]") {
  CHECK(ProductRatio().at(7) == 1);
  CHECK(ProductRatio({}, 512, 512).at(7) == 1);
}

}  // namespace
}  // namespace spillway::test
