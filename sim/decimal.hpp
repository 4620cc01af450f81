// Exact decimal arithmetic on numbers that people typed: 0.35 means 35/100, not the nearest double.
#pragma once

#include <cstdint>

namespace spillway {

/// value = digits * 10^exponent, the shortest decimal that reads back as the double it came from.
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;
};

/// Precondition: value is finite.
Decimal decimal_of(double value);

/// floor(value * 10^power) exactly; throws std::out_of_range when it does not fit int64.
std::int64_t floor_scaled(const Decimal& value, int power);

/// floor(count / divisor) for the decimal the user wrote. Preconditions: count >= 0, divisor > 0.
std::int64_t floor_divided(std::int64_t count, const Decimal& divisor);

}  // namespace spillway
