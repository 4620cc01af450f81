#include "scenarios/commands/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "reports/format.hpp"
#include "scenarios/commands/terminal.hpp"

namespace spillway {

namespace {
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPatience = std::chrono::milliseconds(400);  // short work draws nothing
constexpr auto kLine = std::chrono::seconds(10);
constexpr int kBarWidth = 24;
constexpr double kSureAfterS = 2;     // the rate of less is chance
constexpr double kWorthSayingS = 30;  // of time left
}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 3600) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

double ProgressState::rate() const {
  return done > first && seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
}

double ProgressState::seconds_left() const {
  const double speed = rate();
  if (total == 0 || speed <= 0) return -1;
  return done >= total ? 0 : static_cast<double>(total - done) / speed;
}

std::string progress_line(const std::string& label, const std::string& unit,
                          const ProgressState& state) {
  std::string line = fmt::format("{}: {}", label, state.done);
  if (state.total > 0) line += fmt::format("/{}", state.total);
  line += fmt::format(" {}", unit);
  if (state.rate() > 0) line += fmt::format(", {} {}/s", format_real(state.rate()), unit);
  if (state.seconds_left() >= 0)
    line += fmt::format(", {} left", duration_text(state.seconds_left()));
  return line;
}

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
  if (!started_) {
    // What came before was other work: it says nothing of the rate.
    started_ = true;
    start_ = last_ = now;
    first_ = done;
  }
  const ProgressState state = {first_, done, total,
                               std::chrono::duration<double>(now - start_).count()};
  announce(state);
  if (now - start_ < kPatience || now - last_ < (terminal_ ? Clock::duration(kRedraw) : kLine))
    return;
  last_ = now;
  const std::string line = progress_line(label_, unit_, state);
  if (!terminal_) {
    say(fmt::format("{}\n", line));
    return;
  }
  if (total > 0)
    share_ =
        std::max(share_, std::min(1.0, static_cast<double>(done) / static_cast<double>(total)));
  // A line that is wider than the terminal would scroll instead of being redrawn.
  const std::size_t width = terminal_width(STDERR_FILENO);
  std::string bar;
  if (width > line.size() + kBarWidth + 4) {
    const int filled = static_cast<int>(share_ * kBarWidth);
    bar = fmt::format("[{:#<{}}{:.<{}}] ", "", filled, "", kBarWidth - filled);
  }
  say(fmt::format("\r{}{}\x1b[K", bar, line.substr(0, width - 1)));
  drawn_ = true;
}

/// Once, when the rate is known: who has to wait for minutes hears of it at the start.
void Progress::announce(const ProgressState& state) {
  if (announced_ || state.seconds < kSureAfterS) return;
  announced_ = true;
  const double left = state.seconds_left();
  if (left < kWorthSayingS) return;
  say(fmt::format("{}{}: this takes about {} ({} {} to go)\n", drawn_ ? "\r\x1b[K" : "", label_,
                  duration_text(left), state.total - state.done, unit_));
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (!drawn_) return;
  say(fmt::format("\r\x1b[K"));
  drawn_ = false;
}

}  // namespace spillway
