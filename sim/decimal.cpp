#include "sim/decimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "sim/histogram.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kMostDigits = 100'000'000'000'000'000;  // 10^17, exact in int64
constexpr WideInt kMax = std::numeric_limits<std::int64_t>::max();

WideInt power_of_ten(int n) {
  WideInt out = 1;
  for (int i = 0; i < n; ++i) out *= 10;
  return out;
}

std::int64_t narrow(WideInt value) {
  if (value > kMax || value < -kMax) throw std::out_of_range("does not fit 64 bits");
  return static_cast<std::int64_t>(value);
}

WideInt floor_quotient(WideInt a, WideInt b) {
  const WideInt q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

}  // namespace

Decimal decimal_of(double value) {
  std::array<char, 64> text{};
  const auto [end, status] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  KV_ASSERT(status == std::errc(), "a number that cannot be printed");
  const auto out = parse_decimal({text.data(), static_cast<std::size_t>(end - text.data())});
  KV_ASSERT(out.has_value(), "decimal_of({})", value);
  return *out;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  // parse_real decides what a number is; the rest only collects its digits.
  const std::optional<double> rounded = parse_real(text);
  if (!rounded || !std::isfinite(*rounded)) return std::nullopt;
  Decimal out;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  bool fraction = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') {
      fraction = true;
    } else if (c != '-') {
      const bool fits = out.digits < kMostDigits / 10;
      if (fits) out.digits = out.digits * 10 + (c - '0');
      out.exponent += (fits ? 0 : 1) - (fraction ? 1 : 0);
    }
  }
  if (text.front() == '-') out.digits = -out.digits;
  if (e < text.size()) {
    const std::string_view exponent = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
    out.exponent += parse_whole<int>(exponent).value_or(0);
  }
  return out;
}

double to_double(const Decimal& value) {
  const std::string text = fmt::format("{}e{}", value.digits, value.exponent);
  return parse_real(text).value_or(0);
}

std::int64_t floor_scaled(const Decimal& value, int power) {
  const int exponent = value.exponent + power;
  if (value.digits == 0) return 0;
  if (exponent > 18) throw std::out_of_range("does not fit 64 bits");
  if (exponent >= 0) return narrow(static_cast<WideInt>(value.digits) * power_of_ten(exponent));
  if (exponent < -36) return value.digits < 0 ? -1 : 0;
  return narrow(floor_quotient(value.digits, power_of_ten(-exponent)));
}

std::int64_t floor_times(std::int64_t count, const Decimal& value, int power) {
  WideInt product = static_cast<WideInt>(count) * value.digits;
  int exponent = value.exponent + power;
  for (; exponent > 0 && product != 0; --exponent) product = WideInt{narrow(product)} * 10;
  if (exponent < -38) return 0;  // 2^63 * 10^17 is below 10^38
  return narrow(exponent < 0 ? product / power_of_ten(-exponent) : product);
}

std::int64_t ceil_times(std::int64_t count, const Decimal& value, int power) {
  const std::int64_t floor = floor_times(count, value, power);
  const int exponent = value.exponent + power;
  if (exponent >= 0 || count == 0 || value.digits == 0) return floor;
  if (exponent < -38) return 1;
  const WideInt product = static_cast<WideInt>(count) * value.digits;
  return floor + (product % power_of_ten(-exponent) != 0 ? 1 : 0);
}

std::int64_t floor_divided(std::int64_t count, const Decimal& divisor) {
  if (divisor.exponent > 18) return 0;  // the divisor is above any int64
  WideInt by = divisor.digits;
  if (divisor.exponent > 0) by *= power_of_ten(divisor.exponent);
  // Long division, a digit at a time, so that no product leaves 128 bits.
  WideInt quotient = count / by;
  WideInt rest = count % by;
  for (int exponent = divisor.exponent; exponent < 0; ++exponent) {
    rest *= 10;
    quotient = quotient * 10 + rest / by;
    rest %= by;
    narrow(quotient);
  }
  return narrow(quotient);
}

}  // namespace spillway
