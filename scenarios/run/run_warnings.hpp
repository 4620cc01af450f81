// What a finished run has to say beside its figures.
#pragma once

#include "models/cluster/cluster.hpp"
#include "scenarios/run/simulation.hpp"

namespace spillway {

/// Adds the warnings of a run whose result is complete; `stuck` requests never ended.
void add_run_warnings(const Scenario& scenario, const Workload& workload, const Cluster& cluster,
                      std::uint32_t stuck, SimulationOutcome& out);

}  // namespace spillway
