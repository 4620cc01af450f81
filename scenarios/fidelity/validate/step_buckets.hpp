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
/// are the tokens after the first ones that its steps emit, times the time of a step. Each measured
/// window is set beside the simulated ones of nearly the same batch; those without one are left
/// out. Powers of two end a bucket. `offset` is the clock_offset() of the measured run; nothing
/// where its counters tell no tokens per second.
std::vector<StepBucket> step_buckets(const MeasuredRun& measured, const MeasuredRun& simulated,
                                     double offset);

}  // namespace spillway
