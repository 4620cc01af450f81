// How a cell of a plan stands, in words that claim no more than was found.
#pragma once

#include <string>

#include "sim/plan_result.hpp"

namespace spillway {

/// "met" and "missed" are backed by the plan's confidence; "looks met" rests on replicates without
/// it, "met once" on the single run of the workload itself; "looks met, not needed" went no further
/// as a preferred cell holds. A cell that was left out: why.
std::string standing(const PlanResult& plan, const PlanPoint& point);

/// What is wrong with a cell that was not taken, after its name: "misses the SLO", "missed the SLO
/// in its one run", "looks as if it missed the SLO", "is not backed", "cannot be judged".
std::string_view shortfall(const PlanResult& plan, const PlanPoint& point);

}  // namespace spillway
