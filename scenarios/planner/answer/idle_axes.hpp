// Searched keys of which some values make no difference: their runs are the same, so none of these
// values is an answer.
#pragma once

#include <vector>

#include "scenarios/planner/cells/search_space.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Of the runs of the workload itself, which every point has. An axis `decides` where the cell
/// `answer` (-1: none) has a value that does not act and the objective is about that key.
std::vector<IdleAxis> find_idle_axes(const PlanResult& plan, const SearchSpace& space, int answer);

}  // namespace spillway
