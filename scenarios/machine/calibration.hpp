// A calibration from options to profile: machine, cells, journal, budget, rows.
//
// What `spillway calibrate` does between its command line and its output.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/machine/benches.hpp"
#include "scenarios/machine/cell_runner.hpp"
#include "scenarios/machine/journal.hpp"
#include "scenarios/machine/machine.hpp"

namespace spillway {

struct CalibrationOptions {
  double budget_s = 60;
  std::int64_t memory_bytes = 0;  ///< 0: a quarter of what is available
  std::string scratch;            ///< folder for files
  bool host_only = false;
  GpuHarnessOptions harness;
  RedisOptions redis{};
  std::vector<std::string> only;  ///< sections; empty: all
  std::uint64_t seed = 1;
  std::string profile;  ///< where it will be written; empty: no file, and no journal
  bool resume = false;
  std::string command;         ///< as the profile states it
  std::function<bool()> stop;  ///< ends it early, with what there is; empty: never
};

/// What would be measured here.
class Calibration {
 public:
  /// Looks at the machine and lists the cells; measures and writes nothing. Throws InputError
  /// (exit 2) where the options do not fit the machine.
  explicit Calibration(const CalibrationOptions& options);

  const HostState& host() const { return host_; }
  const BenchLimits& limits() const { return limits_; }
  const std::vector<RunCell>& cells() const { return cells_; }
  /// What cannot be measured here, and why.
  const std::vector<std::string>& missing() const { return missing_; }
  /// Of the machine's state, and of limits that were scaled down.
  std::vector<std::string> warnings() const;

  /// Measures. Throws InputError: exit 2 for a journal that is in the way or of another machine, 5
  /// where the budget fits no cell, 7 where the journal cannot be written.
  HardwareProfile run(const std::function<void(double done_s, double total_s)>& progress);
  /// The profile is written: the journal has served, unless a signal ended the run (then --resume
  /// may go on).
  void finish();

  /// For verifying a profile instead of measuring one.
  const BenchList& benches() const { return benches_; }

  bool stopped() const { return outcome_.stopped; }
  std::size_t measured() const;

 private:
  void open_journal(const std::string& hash, std::string& created);
  void add_outcome_warnings(HardwareProfile& profile) const;

  CalibrationOptions options_;
  HostState host_;
  BenchLimits limits_;
  BenchList benches_;
  std::vector<RunCell> cells_;
  std::vector<std::string> missing_;
  std::vector<std::string> scaled_;  ///< limits that are below what was wanted
  std::vector<std::string> notes_;   ///< of the journal
  std::optional<Journal> journal_;
  double resumed_s_ = 0;
  RunOutcome outcome_;
};

/// "2026-11-21T14:03:00Z", now.
std::string utc_now();

}  // namespace spillway
