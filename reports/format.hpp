// Numbers and sizes for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

inline constexpr double kGiB = 1024.0 * 1024 * 1024;

/// "1.50 GiB".
std::string format_bytes(double bytes);
/// Thousands separated: "12,031".
std::string format_count(std::uint64_t value);
/// Three significant digits or more: "0.123", "12.3", "1,234".
std::string format_real(double value);
/// Milliseconds as "12.3 ms", "4.56 s" or "1,234 s".
std::string format_ms(double ms);
std::string format_percent(double fraction);
/// Control characters and bytes that are no UTF-8 replaced, for terminals and files that they
/// show.
std::string printable(std::string_view text);
/// With a first letter of ASCII in upper case.
std::string capitalised(std::string text);
/// Without their line feeds; a line feed at the end ends the last line.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace spillway
