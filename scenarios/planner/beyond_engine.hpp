// What policies would bring that the engine does not have: a bound, told apart from the answer.
#pragma once

#include <string>
#include <vector>

#include "scenarios/planner/cells/search_space.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// One sentence for each combination that is no candidate: the least of its sizes that met the SLO
/// in the run of the workload itself, beside the recommended one, and which engine cannot run it.
/// One sentence where all combinations are such, and the plan chose among them all the same.
Notes beyond_engine(const PlanResult& plan, const SearchSpace& space);

}  // namespace spillway
