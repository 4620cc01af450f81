// Bit-stable log2 and exp2: close to libm everywhere, exact where exactness is possible.
#include "sim/det_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr double kBound = 1e-15;  // relative, as det_math.hpp promises

double relative_error(double got, long double want) {
  if (want == 0) return std::abs(got);
  return static_cast<double>(std::abs((static_cast<long double>(got) - want) / want));
}

/// A normal double with every exponent equally likely.
double any_normal(Stream& random) {
  const std::uint64_t exponent = 1 + random.below(2046);
  return std::bit_cast<double>((exponent << 52) | (random.bits() >> 12));
}

TEST_CASE("log2 agrees with libm over the normal range", "[sim]") {
  Stream random(1, "log2");
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = any_normal(random);
    worst = std::max(worst, relative_error(det::log2(x), std::log2(static_cast<long double>(x))));
  }
  CHECK(worst < kBound);
}

TEST_CASE("log2 keeps its relative accuracy where the result vanishes", "[sim]") {
  // Around 1 the logarithm goes through 0, where an absolute error would be a large relative one.
  Stream random(1, "log2 near one");
  double worst = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double x = 1 + (random.uniform() - 0.5) * std::exp2(-static_cast<double>(i % 50));
    if (x == 1) continue;
    worst = std::max(worst, relative_error(det::log2(x), std::log2(static_cast<long double>(x))));
  }
  CHECK(worst < kBound);
}

TEST_CASE("exp2 agrees with libm over the normal range", "[sim]") {
  Stream random(1, "exp2");
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = random.uniform() * 2045 - 1022;
    worst = std::max(worst, relative_error(det::exp2(x), std::exp2(static_cast<long double>(x))));
  }
  CHECK(worst < kBound);
}

TEST_CASE("powers of two are exact both ways", "[sim]") {
  bool exact = true;
  for (int e = -1022; e <= 1023; ++e) {
    const double power = std::ldexp(1.0, e);
    exact = exact && det::exp2(e) == power && det::log2(power) == e;
  }
  CHECK(exact);
  CHECK(det::log2(1) == 0);
}

TEST_CASE("log2 reaches into the subnormals", "[sim]") {
  CHECK(det::log2(std::numeric_limits<double>::denorm_min()) == -1074);
  CHECK(det::log2(std::ldexp(1.0, -1030)) == -1030);
  CHECK(det::log2(std::ldexp(3.0, -1040)) == Approx(std::log2(3.0) - 1040).epsilon(1e-15));
}

TEST_CASE("exp2 saturates where the header says", "[sim]") {
  CHECK(det::exp2(-1022) == std::numeric_limits<double>::min());
  CHECK(det::exp2(-1022.5) == 0);
  CHECK(det::exp2(-std::numeric_limits<double>::infinity()) == 0);
  CHECK(det::exp2(1024) == std::numeric_limits<double>::infinity());
  CHECK(det::exp2(std::numeric_limits<double>::infinity()) ==
        std::numeric_limits<double>::infinity());
  // The last half octave rounds up to an exponent that no double has; it must not overflow.
  CHECK(det::exp2(1023.75) == Approx(std::exp2(1023.75)).epsilon(1e-15));
}

TEST_CASE("ln, exp and pow follow", "[sim]") {
  CHECK(det::ln(10) == Approx(std::log(10)).epsilon(1e-15));
  CHECK(det::ln(1) == 0);
  CHECK(det::exp(1) == Approx(std::exp(1)).epsilon(1e-15));
  CHECK(det::exp(0) == 1);
  CHECK(det::pow(3, 4) == Approx(81).epsilon(1e-15));
  CHECK(det::pow(2, -3) == 0.125);
  CHECK(det::pow(7, 0) == 1);
}

TEST_CASE("what has no logarithm is a defect", "[sim]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(det::log2(0), InternalError);
  CHECK_THROWS_AS(det::log2(-1), InternalError);
  CHECK_THROWS_AS(det::log2(nan), InternalError);
  CHECK_THROWS_AS(det::log2(std::numeric_limits<double>::infinity()), InternalError);
  CHECK_THROWS_AS(det::exp2(nan), InternalError);
}

}  // namespace
}  // namespace spillway
