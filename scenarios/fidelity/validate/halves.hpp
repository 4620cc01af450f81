// A fit to one half of a run's time, scored on the requests of the other half, both ways: how far a
// profile that was fitted to one load carries to another of the same machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/compute/compute_profile.hpp"
#include "scenarios/fidelity/validate/run_errors.hpp"

namespace spillway {

struct Scenario;

struct HalfResult {
  std::string fitted;        ///< the half that the fit saw: first or second
  std::uint32_t scored = 0;  ///< requests of the other half
  std::vector<MetricError> metrics;
  std::map<std::string, FittedParameter> parameters;
};

/// The whole run is simulated each time. A request belongs to the half of its first token; the fit
/// sees what happened within its half only. Kernels of the scenario's profile stay where tables
/// told them; a profile that a log told is fitted anew. Means and percentiles are compared, in the
/// order of `names`; empty: all. Throws InputError where a half holds too little to fit.
/// Precondition: every request of the run completed.
std::vector<HalfResult> validate_halves(const MeasuredRun& run, const Scenario& scenario,
                                        const std::vector<std::string>& names);

}  // namespace spillway
