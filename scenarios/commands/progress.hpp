// Progress on standard error: a bar that redraws itself on a terminal, a line every ten seconds
// elsewhere, nothing under --quiet. Safe to call from several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "traces/byte_source.hpp"

namespace spillway {

class Progress {
 public:
  /// `unit` follows the count ("requests", "MB"); `enabled` false draws nothing.
  Progress(std::string label, std::string unit, bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// From here on the work is this.
  void rename(std::string label);
  /// `total` 0 means unknown.
  void update(std::uint64_t done, std::uint64_t total);
  /// Wipes the bar.
  void finish();
  /// For readers of files.
  ReadProgress reader() {
    return [this](std::uint64_t done, std::uint64_t total) { update(done >> 20, total >> 20); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  std::string unit_;
  bool enabled_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
  std::mutex mutex_;
};

}  // namespace spillway
