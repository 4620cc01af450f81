#include "scenarios/commands/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace spillway {

namespace {

constexpr std::size_t kNarrowest = 20;
constexpr std::size_t kUnknownWidth = 80;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  const std::string_view text = environment("COLUMNS");
  std::size_t width = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), width);
  if (status != std::errc() || end != text.data() + text.size()) width = 0;
  winsize size{};
  if (width == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width == 0 ? kUnknownWidth : std::max(width, kNarrowest);
}

bool terminal_unicode() {
  if (!environment("SPILLWAY_ASCII").empty()) return false;
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    locale = environment(name);
    if (!locale.empty()) break;
  }
  std::transform(locale.begin(), locale.end(), locale.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

bool terminal_color(int descriptor, const std::string& choice) {
  if (choice != "auto") return choice == "always";
  return isatty(descriptor) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

}  // namespace spillway
