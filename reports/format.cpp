#include "reports/format.hpp"

#include <fmt/format.h>

#include <array>
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

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool c1 = byte == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F, two bytes
    out += byte < 0x20 || byte == 0x7f || c1 ? '?' : text[i];
    if (c1) ++i;
  }
  return out;
}

}  // namespace spillway
