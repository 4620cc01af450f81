// What a plan tells of the traffic it was made for.
#pragma once

#include "sim/plan_parts.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// Statistics of `workload`, which is that of `scenario`, with long lists cut to what a drawing
/// needs. Nothing where it has no request.
std::optional<PlanWorkload> plan_workload(const Scenario& scenario, const Workload& workload);

}  // namespace spillway
