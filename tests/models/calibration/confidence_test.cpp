// Intervals of a fit, on cases small enough to work out by hand.
#include "models/calibration/confidence.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

FittedPoints points_of(std::size_t count) {
  FittedPoints out;
  out.slopes.assign(count, {1.0});
  out.residuals.assign(count, 0.0);
  out.weights.assign(count, 1.0);
  return out;
}

TEST_CASE("spans share noise as far as they share time", "[models]") {
  CHECK(shared_noise({0, 4}, {0, 4}) == 1);
  CHECK(shared_noise({0, 4}, {4, 8}) == 0);
  // 1 s of spans of 1 and 4 s: 1 / sqrt(4).
  CHECK(shared_noise({0, 4}, {2, 3}) == Approx(0.5));
}

TEST_CASE("independent points tell as much as their number says", "[models]") {
  // 99 points of noise 1 and a prior of 1: the variance is 1 / 100.
  const std::vector<double> prior = {1};
  CHECK(covariance(points_of(99), prior)[0][0] == Approx(0.01));
  // No point, nothing told.
  CHECK(covariance(points_of(0), prior)[0][0] == Approx(1));
}

TEST_CASE("points that are one and the same tell no more than one", "[models]") {
  // Nine over the same second, each counted for a ninth: H = 9/9 + 1 = 2, their noise is that of
  // one, 81 x 1/81 = 1, and 1 of the prior: variance (1 + 1) / 2^2 = 0.5.
  FittedPoints same = points_of(9);
  same.times.assign(9, {0, 1});
  same.weights.assign(9, 1.0 / 9);
  const std::vector<double> prior = {1};
  CHECK(covariance(same, prior)[0][0] == Approx(0.5));
  // If none of the noise is common, they are nine: 9 x 1/81 = 1/9, and 1: (10/9) / 4.
  same.common = 0;
  CHECK(covariance(same, prior)[0][0] == Approx(10.0 / 9 / 4));
}

TEST_CASE("common noise is what residuals of spans that share time have in common", "[models]") {
  const std::vector<TimeSpan> pairs = {{0, 1}, {0, 1}, {2, 3}, {2, 3}};
  CHECK(common_noise(std::vector<double>{1, 1, -1, -1}, pairs) == 1);
  // Products of the two pairs: 1 and -1, together nothing.
  CHECK(common_noise(std::vector<double>{1, 1, 1, -1}, pairs) == 0);
  CHECK(common_noise(std::vector<double>{1, 1}, {{0, 1}, {1, 2}}) == 0);
}

TEST_CASE("residuals that drift widen an interval", "[models]") {
  // 40 spans one after another in ten blocks of four. Of signs in turn, each block sums to 0.
  FittedPoints points = points_of(40);
  for (std::size_t i = 0; i < 40; ++i) {
    const auto from = static_cast<double>(i);
    points.times.emplace_back(from, from + 1);
    points.residuals[i] = i % 2 == 0 ? 1 : -1;
  }
  CHECK(overdispersion(points) == 1);
  // The first half above, the second below: each block sums to 4 in size, 16 over the 4 expected.
  for (std::size_t i = 0; i < 40; ++i) points.residuals[i] = i < 20 ? 1 : -1;
  CHECK(overdispersion(points) == 4);
}

}  // namespace
}  // namespace spillway::test
