#include "scenarios/machine/system_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace spillway {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r\"");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n\r\"") - begin + 1));
}

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

std::string first_line(const std::string& path) {
  const std::string text = slurp(path);
  return trimmed(text.substr(0, text.find('\n')));
}

std::string field(const std::string& text, std::string_view key, char separator) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    const std::size_t split = line.find(separator);
    if (split != std::string_view::npos && trimmed(line.substr(0, split)) == key) {
      return trimmed(line.substr(split + 1));
    }
    at = end + 1;
  }
  return "";
}

std::int64_t number(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() ? value : otherwise;
}

std::int64_t kib_field(const std::string& text, std::string_view key) {
  const std::int64_t kib = number(field(text, key), -1);
  return kib < 0 ? -1 : kib << 10;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    out.push_back(it->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace spillway
