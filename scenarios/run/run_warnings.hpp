// What a finished run has to say beside its figures.
#pragma once

#include "models/cluster/cluster.hpp"
#include "scenarios/run/fit_reach.hpp"
#include "scenarios/run/simulation.hpp"

namespace spillway {

/// Adds the warnings of a run whose result is complete; `stuck` requests never ended.
void add_run_warnings(const Scenario& scenario, const Workload& workload, const Cluster& cluster,
                      std::uint32_t stuck, SimulationOutcome& out);

/// Adds one where steps were not like those that the scenario's profile was fitted to.
void warn_of_fit(const Scenario& scenario, const FitReach& reach, SimulationOutcome& out);

}  // namespace spillway
