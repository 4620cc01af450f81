// Decimals: what people typed, exactly; 0.35 is 35/100 and not the nearest double.
#include "sim/decimal.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

bool is(const Decimal& d, std::int64_t digits, int exponent) {
  return d.digits == digits && d.exponent == exponent;
}

TEST_CASE("a double becomes the shortest decimal that reads back as it", "[sim]") {
  CHECK(is(decimal_of(0.35), 35, -2));
  CHECK(is(decimal_of(0.1), 1, -1));
  CHECK(is(decimal_of(1e-9), 1, -9));
  CHECK(is(decimal_of(25e9), 25, 9));
  CHECK(is(decimal_of(1), 1, 0));
  CHECK(is(decimal_of(-0.5), -5, -1));
  CHECK(is(decimal_of(1e22), 1, 22));
  CHECK(is(decimal_of(0.1 + 0.2), 30000000000000004, -17));
}

TEST_CASE("zero is zero, whichever its sign", "[sim]") {
  CHECK(decimal_of(0.0).digits == 0);
  CHECK(decimal_of(-0.0).digits == 0);
  CHECK(floor_scaled(decimal_of(-0.0), 18) == 0);
}

TEST_CASE("the ends of the double range have decimals too", "[sim]") {
  CHECK(is(decimal_of(std::numeric_limits<double>::max()), 17976931348623157, 292));
  CHECK(is(decimal_of(std::numeric_limits<double>::denorm_min()), 5, -324));
}

TEST_CASE("scaling by a power of ten is exact where doubles are not", "[sim]") {
  // In doubles 0.29 * 100 is 28.999999999999996, whose floor is 28.
  CHECK(0.29 * 100 < 29);
  CHECK(floor_scaled(decimal_of(0.29), 2) == 29);
  CHECK(floor_scaled(decimal_of(0.35), 2) == 35);
  CHECK(floor_scaled(decimal_of(1.1), 1) == 11);
  CHECK(floor_scaled(decimal_of(1e-9), 9) == 1);
  CHECK(floor_scaled(decimal_of(4.35), 6) == 4'350'000);
  CHECK(floor_scaled(decimal_of(123456789.123456), 6) == 123'456'789'123'456);
}

TEST_CASE("what is left of the point is kept, towards minus infinity", "[sim]") {
  CHECK(floor_scaled(decimal_of(0.35), 1) == 3);
  CHECK(floor_scaled(decimal_of(0.35), 0) == 0);
  CHECK(floor_scaled(decimal_of(-0.35), 1) == -4);
  CHECK(floor_scaled(decimal_of(-0.35), 2) == -35);
  CHECK(floor_scaled(decimal_of(-1e-300), 0) == -1);
  CHECK(floor_scaled(decimal_of(1e-300), 0) == 0);
  CHECK(floor_scaled(decimal_of(1234), -2) == 12);
}

TEST_CASE("what does not fit 64 bits is refused, not wrapped", "[sim]") {
  CHECK(floor_scaled(decimal_of(1e18), 0) == 1'000'000'000'000'000'000);
  CHECK(floor_scaled({kMax, 0}, 0) == kMax);
  CHECK_THROWS_AS(floor_scaled(decimal_of(1e19), 0), std::out_of_range);
  CHECK_THROWS_AS(floor_scaled(decimal_of(1e300), 0), std::out_of_range);
  CHECK_THROWS_AS(floor_scaled(decimal_of(-1e19), 0), std::out_of_range);
  CHECK_THROWS_AS(floor_scaled(decimal_of(9.3), 18), std::out_of_range);
}

TEST_CASE("dividing a count is exact where doubles are not", "[sim]") {
  // In doubles 6 / 0.1 is 60 but 0.6 / 0.1 is 5.999...; as decimals all quotients are what they
  // are.
  CHECK(floor_divided(6, decimal_of(0.1)) == 60);
  CHECK(floor_divided(7, decimal_of(0.35)) == 20);
  CHECK(floor_divided(3, decimal_of(0.35)) == 8);  // 8.57...
  CHECK(floor_divided(1, decimal_of(1e-9)) == 1'000'000'000);
  CHECK(floor_divided(0, decimal_of(0.35)) == 0);
  CHECK(floor_divided(10, decimal_of(4)) == 2);
  CHECK(floor_divided(12'345, decimal_of(1e3)) == 12);
  CHECK(floor_divided(kMax, decimal_of(1)) == kMax);
}

TEST_CASE("a quotient beyond 64 bits is refused", "[sim]") {
  CHECK_THROWS_AS(floor_divided(kMax, decimal_of(0.5)), std::out_of_range);
  CHECK_THROWS_AS(floor_divided(1, decimal_of(1e-30)), std::out_of_range);
  CHECK(floor_divided(kMax, decimal_of(1e30)) == 0);
}

TEST_CASE("text keeps what a double would round", "[sim]") {
  const auto scaled = [](std::string_view text, int power) {
    return floor_scaled(parse_decimal(text).value(), power);
  };
  CHECK(scaled("9999999999.123456", 6) == 9'999'999'999'123'456);
  CHECK(scaled("1.5e3", 0) == 1500);
  CHECK(scaled("-2.5", 1) == -25);
  CHECK(scaled("0.12345678901234567890", 18) == 123'456'789'012'345'670);  // 17 digits are kept
  for (const std::string_view text : {"", "1x", "nan", "inf", "1e999", "+1", " 1", "1 "}) {
    CHECK_FALSE(parse_decimal(text).has_value());
  }
}

TEST_CASE("a random decimal survives the way through a double", "[sim]") {
  // Up to 15 significant digits are unambiguous in a double, so floor_scaled must return them.
  Stream random(1, "decimal");
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto digits = static_cast<std::int64_t>(random.below(1'000'000'000'000'000));
    const int places = static_cast<int>(random.below(12));
    const double value = static_cast<double>(digits) / std::pow(10.0, places);
    wrong += floor_scaled(decimal_of(value), places) == digits ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a long divisor below a hundredth still divides", "[sim]") {
  // 1/300 prints as 0.0033333333333333335: seventeen digits, exponent -19, though its value is far
  // from the limits. A scenario's arrival speed may be such a number.
  CHECK(floor_divided(1, decimal_of(1.0 / 300)) == 299);  // 1 / 0.0033333333333333335 = 299.99...
}

}  // namespace
}  // namespace spillway
