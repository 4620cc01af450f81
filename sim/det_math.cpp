#include "sim/det_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/error.hpp"

namespace spillway::det {

namespace {
constexpr double kLn2 = 0.69314718055994530942;
constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << 52) - 1;
constexpr int kBias = 1023;

double two_to(int exponent) {  // -1022 <= exponent <= 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kBias) << 52);
}
}  // namespace

double log2(double x) {
  KV_ASSERT(x > 0 && x <= std::numeric_limits<double>::max(), "log2 of {}", x);
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {  // subnormal: scale into the normal range
    x *= two_to(54);
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - kBias;
  double m = std::bit_cast<double>((bits & kMantissaMask) | (std::uint64_t{kBias} << 52));
  if (m > 1.41421356237309504880) {  // keep m in [sqrt(1/2), sqrt(2)]
    m /= 2;
    ++exponent;
  }
  // ln(m) = 2 atanh(s), s = (m-1)/(m+1), |s| <= 0.172: eleven terms reach 1e-18.
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;
  for (int k = 11; k >= 0; --k) series = series * s2 + 1.0 / (2 * k + 1);
  return exponent + (2 / kLn2) * s * series;
}

double exp2(double x) {
  KV_ASSERT(x == x, "exp2 of a NaN");
  if (x < -1022) return 0;
  if (x >= 1024) return std::numeric_limits<double>::infinity();
  const double whole = std::floor(x + 0.5);
  const double t = (x - whole) * kLn2;  // |t| <= 0.347: Taylor to degree 15 reaches 1e-19
  double series = 1;
  for (int k = 15; k >= 1; --k) series = 1 + series * t / k;
  if (whole > 1023) return series * 2 * two_to(1023);
  return series * two_to(static_cast<int>(whole));
}

}  // namespace spillway::det
