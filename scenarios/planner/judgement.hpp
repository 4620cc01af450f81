// What a plan says about its cells once they are known: the recommendation, the knee, what binds,
// and the sentences around them.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/plan_result.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// Fills everything of `plan` but its points. `scenario` is that of the points, whatever its size;
/// `workload` the one that they ran.
void judge(PlanResult& plan, const Scenario& scenario, const Workload& workload);

}  // namespace spillway
