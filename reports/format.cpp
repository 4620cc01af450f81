#include "reports/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace spillway {

std::string format_bytes(double bytes) {
  static constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kNames.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{:.2f} {}", bytes, kNames[unit]);
}

std::string format_count(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string format_real(double value) {
  const double size = std::fabs(value);
  if (size >= 1e16) return fmt::format("{:.3g}", value);
  if (size >= 999.5) {
    return (value < 0 ? "-" : "") + format_count(static_cast<std::uint64_t>(std::llround(size)));
  }
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 1) return fmt::format("{:.2f}", value);
  return size == 0 ? "0" : fmt::format("{:.3g}", value);
}

std::string format_ms(double ms) {
  if (ms < 1000) return format_real(ms) + " ms";
  return format_real(ms / 1000) + " s";
}

std::string format_percent(double fraction) {
  return fmt::format("{:.1f}%", 100 * fraction);
}

namespace {

/// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, half of a UTF-16 pair, beyond the last character.
  const unsigned second = byte(1);
  const bool wrong = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                     (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return wrong ? 0 : size;
}

/// U+2028 to U+202E and U+2066 to U+2069: they end a line, or turn the order of what follows.
bool reorders(std::string_view character) {
  if (character.size() != 3 || character[0] != '\xe2') return false;
  const auto last = static_cast<unsigned char>(character[2]);
  if (character[1] == '\x80') return last >= 0xa8 && last <= 0xae;
  return character[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character(text);
    const auto lead = static_cast<unsigned char>(text.front());
    const bool c0 = lead < 0x20 || lead == 0x7f;
    const bool c1 = lead == 0xc2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (size == 0 || c0 || c1 || reorders(text.substr(0, size))) {
      out += '?';
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out;
}

std::string capitalised(std::string text) {
  if (!text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  }
  return text;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace spillway
