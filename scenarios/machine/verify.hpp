// Whether a profile still describes this machine: some of its cells measured again, and sizes that
// no cell has against what the fits say of them.
//
// A busy machine is noisy, so every cell is measured `repeats` times and the middle one counts, and
// what is judged is the distribution: the median and the 95th percentile of the errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "models/calibration/profile.hpp"
#include "reports/report.hpp"
#include "scenarios/machine/bench.hpp"

namespace spillway {

struct VerifyOptions {
  double share = 0.1;  ///< of the stored cells, at least one of each section
  std::uint32_t repeats = 3;
  std::uint64_t seed = 1;
  // In percent.
  double stored_median = 5;
  double stored_p95 = 15;
  double new_median = 10;
  double new_p95 = 25;
  /// Told (done, of all) after each cell; empty: nobody.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

struct VerifiedCell {
  std::string section;
  nlohmann::json request;
  bool stored = true;   ///< false: a size that the profile has not
  double expected = 0;  ///< us or GB/s, as `unit` says
  double measured = 0;
  std::string unit;
  double error = 0;  ///< percent
};

struct VerifySummary {
  std::uint32_t cells = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
  bool holds = true;
};

struct VerifyResult {
  bool holds = false;  ///< both parts, and something was measured
  VerifySummary stored;
  VerifySummary fresh;              ///< sizes not in the profile
  std::vector<VerifiedCell> cells;  ///< worst first
  std::vector<std::string> notes;   ///< what could not be verified, and why
};

VerifyResult verify_profile(const HardwareProfile& profile,
                            std::span<const std::unique_ptr<Bench>> benches,
                            const BenchLimits& limits, const VerifyOptions& options);

/// What the terminal shows: the verdict, the figures against their limits, the worst cells.
Report verify_summary(const VerifyResult& result, const VerifyOptions& options,
                      const std::string& name);

}  // namespace spillway
