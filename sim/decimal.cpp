#include "sim/decimal.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "sim/error.hpp"
#include "sim/histogram.hpp"

namespace spillway {

namespace {

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
  Decimal out;
  const std::string_view all(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::size_t e = all.find('e');
  bool fraction = false;
  for (const char c : all.substr(0, e)) {
    if (c == '.') {
      fraction = true;
    } else if (c != '-') {
      out.digits = out.digits * 10 + (c - '0');
      if (fraction) --out.exponent;
    }
  }
  if (all.front() == '-') out.digits = -out.digits;
  int exponent = 0;
  const char* first = all.data() + e + 1;
  if (*first == '+') ++first;
  std::from_chars(first, all.data() + all.size(), exponent);
  out.exponent += exponent;
  return out;
}

std::int64_t floor_scaled(const Decimal& value, int power) {
  const int exponent = value.exponent + power;
  if (value.digits == 0) return 0;
  if (exponent > 18) throw std::out_of_range("does not fit 64 bits");
  if (exponent >= 0) return narrow(static_cast<WideInt>(value.digits) * power_of_ten(exponent));
  if (exponent < -36) return value.digits < 0 ? -1 : 0;
  return narrow(floor_quotient(value.digits, power_of_ten(-exponent)));
}

std::int64_t floor_divided(std::int64_t count, const Decimal& divisor) {
  // digits < 10^17 and |exponent| <= 18 keep both products inside 128 bits.
  if (divisor.exponent < -18 || divisor.exponent > 18) {
    throw std::out_of_range("a divisor beyond 10^18");
  }
  const int up = divisor.exponent < 0 ? -divisor.exponent : 0;
  const int down = divisor.exponent > 0 ? divisor.exponent : 0;
  return narrow(floor_quotient(static_cast<WideInt>(count) * power_of_ten(up),
                               static_cast<WideInt>(divisor.digits) * power_of_ten(down)));
}

}  // namespace spillway
