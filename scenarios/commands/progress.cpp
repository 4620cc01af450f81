#include "scenarios/commands/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace spillway {

namespace {
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPatience = std::chrono::milliseconds(400);  // short work draws nothing
constexpr auto kLine = std::chrono::seconds(10);
constexpr int kBarWidth = 24;
}  // namespace

Progress::Progress(std::string label, std::string unit, bool enabled)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      enabled_(enabled),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  finish();
}

void Progress::rename(std::string label) {
  const std::lock_guard lock(mutex_);
  label_ = std::move(label);
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now - start_ < kPatience || now - last_ < (terminal_ ? Clock::duration(kRedraw) : kLine))
    return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double share =
      total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  std::string line = fmt::format("{}: {}", label_, done);
  if (total > 0) line += fmt::format("/{}", total);
  line += fmt::format(" {}", unit_);
  if (share > 0) line += fmt::format(", {:.0f} s left", seconds / share - seconds);
  if (!terminal_) {
    fmt::print(stderr, "{}\n", line);
    return;
  }
  const int filled = static_cast<int>(share * kBarWidth);
  fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {}\x1b[K", "", filled, "", kBarWidth - filled, line);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace spillway
