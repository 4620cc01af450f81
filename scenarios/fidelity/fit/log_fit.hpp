// Compute parameters from what an engine logged: times of requests, of steps, or of a served load.
#pragma once

#include <cstdint>
#include <optional>

#include "models/calibration/confidence.hpp"
#include "scenarios/fidelity/fit/fit_result.hpp"
#include "scenarios/scenario/measured/measured_run.hpp"

namespace spillway {

struct Scenario;

struct LogFitOptions {
  std::uint32_t first = 0;  ///< fit to the earliest so many requests only; 0: all
  /// Fit only to what happened within it, seconds of the log's clock.
  std::optional<TimeSpan> within;
  /// Kernels known already (fitted from tables): then factors of them are fitted.
  std::optional<ComputeProfile> kernels;
};

/// Fits so that a simulation of `run` under `scenario`'s engine takes as long as it did. All of it
/// is simulated, whatever of it is fitted to: the other requests load the engine, too. Only what
/// happened until the last request was scheduled counts: later steps may hold requests that are not
/// in the log. Throws InputError (exit 3) with the number of requests needed where they are too
/// few.
FitResult fit_log(const MeasuredRun& run, const Scenario& scenario, const LogFitOptions& options);

/// Of its answers, which holds the parameters; kernels from tables have scores of their own.
const FitScore& log_score(const FitResult& fit);

}  // namespace spillway
