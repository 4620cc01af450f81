// The planner: the smallest size of a tier that meets the scenario's SLOs.
//
// It simulates every size of the scenario's grid (no monotonicity is assumed: a larger tier can be
// slower when its link saturates) and picks the smallest that passes. It also names the knee, the
// resource that binds at the chosen size, and the headroom left.
#pragma once

#include <functional>

#include "scenarios/scenario.hpp"
#include "sim/plan_result.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct PlanOutcome {
  PlanResult result;
  std::vector<std::string> warnings;
};

/// `progress` is told (sizes done, sizes in all), from any thread. Throws InputError (exit 2) when
/// the scenario has no plan or no SLO.
PlanOutcome plan_sizes(const Scenario& scenario, const Workload& workload, unsigned threads,
                       const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace spillway
