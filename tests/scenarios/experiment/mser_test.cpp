// MSER-5 on series whose transient is known, and on series without one.
#include "scenarios/experiment/mser.hpp"

#include <cmath>
#include <vector>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::size_t kLength = 1000;

/// A first-order autoregression about 1 from its stationary distribution: x' = 0.5 x + noise, with
/// a standard deviation of 0.05, plus `depth` exp(-i / `scale`).
std::vector<double> planted(std::uint64_t seed, double depth, double scale) {
  Stream stream(seed, "autoregression");
  std::vector<double> out;
  double x = 0.05 * stream.normal();
  for (std::size_t i = 0; i < kLength; ++i) {
    out.push_back(1 + x + depth * std::exp(-static_cast<double>(i) / scale));
    x = 0.5 * x + 0.05 * std::sqrt(1 - 0.25) * stream.normal();
  }
  return out;
}

struct Found {
  double truncated = 0;  ///< mean
  double settled = 0;    ///< share
  double bias = 0;       ///< of the mean of what is left
};

Found over_seeds(double depth, double scale) {
  constexpr int kSeeds = 200;
  Found out;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<double> series = planted(seed, depth, scale);
    const MserResult found = mser5(series);
    out.truncated += static_cast<double>(found.truncated) / kSeeds;
    out.settled += found.settled ? 1.0 / kSeeds : 0;
    double sum = 0;
    for (std::size_t i = found.truncated; i < kLength; ++i) sum += series[i] - 1;
    out.bias += sum / static_cast<double>(kLength - found.truncated) / kSeeds;
  }
  return out;
}

TEST_CASE("a planted transient is left out, and little else", "[scenarios]") {
  // exp(-i / 30) falls below the noise of a mean of five (about 0.04) after 30 ln(0.8 / 0.04) = 90
  // observations. Left in, it would add -0.8 * 30 / 1000 = -0.024 to the mean.
  const Found found = over_seeds(-0.8, 30);
  INFO("truncated " << found.truncated << ", settled " << found.settled << ", bias " << found.bias);
  CHECK(found.truncated > 60);
  CHECK(found.truncated < 200);
  CHECK(found.settled > 0.97);
  CHECK(std::fabs(found.bias) < 0.002);
}

TEST_CASE("without a transient little is left out", "[scenarios]") {
  const Found found = over_seeds(0, 30);
  INFO("truncated " << found.truncated << ", settled " << found.settled);
  CHECK(found.truncated < 0.1 * kLength);
  CHECK(found.settled > 0.95);
  CHECK(std::fabs(found.bias) < 0.002);
}

TEST_CASE("a transient that does not end is said not to", "[scenarios]") {
  // A ramp over the whole: the quarters' means differ by a quarter of it.
  std::vector<double> ramp;
  for (std::size_t i = 0; i < kLength; ++i) ramp.push_back(static_cast<double>(i) / kLength);
  const MserResult found = mser5(ramp);
  CHECK_FALSE(found.settled);
  CHECK(found.truncated == kLength / 2);
  CHECK(found.drift == Approx(0.25));
}

TEST_CASE("a constant is settled at once, and a short series says nothing", "[scenarios]") {
  const MserResult constant = mser5(std::vector<double>(100, 0.3));
  CHECK(constant.settled);
  CHECK(constant.truncated == 0);
  CHECK(constant.drift == 0);
  const MserResult few = mser5(std::vector<double>(49, 0.3));
  CHECK_FALSE(few.enough);
  CHECK_FALSE(few.settled);
  CHECK(few.truncated == 0);
}

}  // namespace
}  // namespace spillway
