// Numbers in texts, as std::from_chars reads them: no locale, no blanks, no leading plus.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>

namespace spillway {

/// A number at the beginning of a text; `length` 0: there is none, or no double holds it.
struct LeadingReal {
  double value = 0;
  std::size_t length = 0;
};
/// `exponent`: "1e3" is 1000, else 1 and three characters are left.
LeadingReal leading_real(std::string_view text, bool exponent = true);

/// The number that the whole text spells, "inf" and "nan" among them.
std::optional<double> parse_real(std::string_view text);

/// The same of whole numbers; nothing where T does not hold it.
template <std::integral T>
std::optional<T> parse_whole(std::string_view text, int base = 10) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), last, value, base);
  return status == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

}  // namespace spillway
