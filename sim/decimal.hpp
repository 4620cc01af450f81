// Exact decimal arithmetic on numbers that people typed: 0.35 means 35/100, not the nearest double.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

/// value = digits * 10^exponent, the shortest decimal that reads back as the double it came from.
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;
};

/// Precondition: value is finite.
Decimal decimal_of(double value);

/// The decimal that `text` spells ("12.5", "-3e2"); digits beyond the seventeenth are cut off.
/// Nothing when the text is not wholly a finite number.
std::optional<Decimal> parse_decimal(std::string_view text);

/// The double nearest to it.
double to_double(const Decimal& value);

/// floor(value * 10^power) exactly; throws std::out_of_range when it does not fit int64.
std::int64_t floor_scaled(const Decimal& value, int power);

/// floor(count / divisor) for the decimal the user wrote. Preconditions: count >= 0, divisor > 0.
/// Throws std::out_of_range when the quotient does not fit int64.
std::int64_t floor_divided(std::int64_t count, const Decimal& divisor);

/// floor and ceiling of count * value * 10^power for the decimal the user wrote. Preconditions:
/// count >= 0, value >= 0. Throw std::out_of_range when the product does not fit int64.
std::int64_t floor_times(std::int64_t count, const Decimal& value, int power = 0);
std::int64_t ceil_times(std::int64_t count, const Decimal& value, int power = 0);

}  // namespace spillway
