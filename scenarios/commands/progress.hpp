// Progress on standard error: a bar that redraws itself on a terminal, a line every ten seconds
// elsewhere, nothing under --quiet. Long work is announced once, with how long it will take. Safe
// to call from several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "traces/byte_source.hpp"

namespace spillway {

/// "8 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

/// Where work stands `seconds` after `first` units were done: count, rate and time left, as far as
/// they can be told. `total` 0: unknown.
struct ProgressState {
  std::uint64_t first = 0;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  double seconds = 0;

  double rate() const;          ///< units per second; 0: not known
  double seconds_left() const;  ///< negative: not known
};
std::string progress_line(const std::string& label, const std::string& unit,
                          const ProgressState& state);

class Progress {
 public:
  /// `unit` follows the count ("requests", "MB"); `enabled` false draws nothing.
  Progress(std::string label, std::string unit, bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// From here on the work is this.
  void rename(std::string label);
  /// `total` 0 means unknown; one that changes is an estimate.
  void update(std::uint64_t done, std::uint64_t total);
  /// Wipes the bar.
  void finish();
  /// For readers of files.
  ReadProgress reader() {
    return [this](std::uint64_t done, std::uint64_t total) { update(done >> 20, total >> 20); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  void announce(const ProgressState& state);

  std::string label_;
  std::string unit_;
  bool enabled_;
  bool terminal_;
  bool drawn_ = false;
  bool started_ = false;
  bool announced_ = false;
  std::uint64_t first_ = 0;  ///< units done when the work was first heard of
  double share_ = 0;         ///< of the bar; a total that grows does not take it back
  Clock::time_point start_;
  Clock::time_point last_;
  std::mutex mutex_;
};

}  // namespace spillway
