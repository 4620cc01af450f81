#include "sim/numbers.hpp"

#ifndef __cpp_lib_to_chars
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#endif

namespace spillway {

#ifdef __cpp_lib_to_chars

LeadingReal leading_real(std::string_view text, bool exponent) {
  LeadingReal out;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), out.value,
                      exponent ? std::chars_format::general : std::chars_format::fixed);
  if (status == std::errc()) out.length = static_cast<std::size_t>(end - text.data());
  return out;
}

#else  // LLVM's library reads no doubles before version 20

namespace {

std::size_t digits_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("0123456789", std::min(at, text.size()));
  return std::min(end, text.size()) - at;
}

/// Characters of the number at the beginning.
std::size_t spelt(std::string_view text, bool exponent) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  for (const std::string_view word : {"infinity", "inf", "nan"}) {
    const auto same = [](char a, char b) { return (a | 0x20) == b; };
    const std::string_view here = text.substr(sign, word.size());
    if (std::equal(here.begin(), here.end(), word.begin(), word.end(), same)) {
      return sign + word.size();
    }
  }
  const std::size_t whole = digits_at(text, sign);
  std::size_t at = sign + whole;
  std::size_t part = 0;
  if (at < text.size() && text[at] == '.') {
    part = digits_at(text, at + 1);
    if (whole + part > 0) at += 1 + part;
  }
  if (whole + part == 0) return 0;
  if (exponent && at < text.size() && (text[at] | 0x20) == 'e') {
    const std::size_t from = at + 1;
    const bool signs = from < text.size() && (text[from] == '+' || text[from] == '-');
    const std::size_t digits = digits_at(text, from + (signs ? 1 : 0));
    if (digits > 0) at = from + (signs ? 1 : 0) + digits;
  }
  return at;
}

}  // namespace

LeadingReal leading_real(std::string_view text, bool exponent) {
  const std::string number(text.substr(0, spelt(text, exponent)));
  // The program never leaves the locale "C".
  const double value = std::strtod(number.c_str(), nullptr);
  const bool word = number.find_first_of("nN") != std::string::npos;
  const bool zero =
      number.substr(0, number.find_first_of("eE")).find_first_of("123456789") == std::string::npos;
  const bool held = word || (std::isfinite(value) && (value != 0 || zero));
  return held ? LeadingReal{value, number.size()} : LeadingReal{};
}

#endif

std::optional<double> parse_real(std::string_view text) {
  const LeadingReal read = leading_real(text);
  const bool all = read.length > 0 && read.length == text.size();
  return all ? std::optional(read.value) : std::nullopt;
}

}  // namespace spillway
