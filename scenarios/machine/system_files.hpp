// The small text files of /proc and /sys: what is missing is empty, never an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// Without white space and quotes around it.
std::string trimmed(std::string_view text);
/// The whole file; empty where there is none.
std::string slurp(const std::string& path);
/// The first line of a file, trimmed.
std::string first_line(const std::string& path);
/// What follows `key` and the separator on the first line that starts with them, trimmed.
std::string field(const std::string& text, std::string_view key, char separator = ':');
/// The whole number that `text` opens with, or `otherwise`.
std::int64_t number(std::string_view text, std::int64_t otherwise);
/// Bytes of a "key: 123 kB" line; -1 where it is missing.
std::int64_t kib_field(const std::string& text, std::string_view key);
/// What lies in a folder, sorted.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace spillway
