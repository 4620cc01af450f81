// What no size and no load explains: the latencies of one request at a time with tiers without
// bound. Where these miss, nothing that a plan sizes helps, and what lowers them is tried instead.
#pragma once

#include <optional>

#include "scenarios/planner/answer/configurations.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

/// Of cell `cell`; nothing where no target bounds a latency, or where it cannot be run. A floor
/// that is missed is told with copies that take no time, and, where `lowering` is asked for, with
/// what was tried against it.
std::optional<PlanFloor> find_floor(Configurations& configurations, const Scenario& scenario,
                                    int cell, bool lowering);

/// The highest load at which `cell` meets the SLO with a tier without bound, to about 5%. Nothing
/// where arrivals follow from the answers. `rate_per_s`: of the workload as it is.
std::optional<PlanCeiling> find_ceiling(Configurations& configurations, const Scenario& scenario,
                                        int cell, double rate_per_s);

}  // namespace spillway
