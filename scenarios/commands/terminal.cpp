#include "scenarios/commands/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "sim/numbers.hpp"

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
  std::size_t width = parse_whole<std::size_t>(environment("COLUMNS")).value_or(0);
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

void say(std::string_view text) {
  // Whoever no longer reads our notes does not end the program.
  sigset_t pipe{};
  sigset_t before{};
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  const timespec at_once{};
  if (sigismember(&before, SIGPIPE) == 0) (void)sigtimedwait(&pipe, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace spillway
