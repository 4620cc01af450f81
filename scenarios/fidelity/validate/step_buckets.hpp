// How long steps take at each size of batch, measured and simulated alike: from what is sampled
// every second, so that errors of small and large batches cannot cancel each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario/measured/measured_run.hpp"

namespace spillway {

/// Steps of batches of `least` to `most` requests that decode.
struct StepBucket {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  bool prompts = false;       ///< windows in which some prompt was computed, too
  std::uint32_t windows = 0;  ///< measured ones
  double measured_ms = 0;
  double simulated_ms = 0;

  double error_percent() const { return 100 * (simulated_ms - measured_ms) / measured_ms; }
  /// "step_ms_33_64", "step_ms_33_64_prompts"
  std::string name() const;
};

/// A window is what lies between two samples. The requests that decode in it, integrated over it,
/// are the tokens after the first ones that its steps emit, times the time of a step. Windows of
/// one size of batch are summed: powers of two end a bucket. Buckets of fewer than kLeastWindows on
/// either side are left out. `offset` is the clock_offset() of the measured run, whose counters
/// tell tokens per second; nothing where they do not.
std::vector<StepBucket> step_buckets(const MeasuredRun& measured, const MeasuredRun& simulated,
                                     double offset);

}  // namespace spillway
