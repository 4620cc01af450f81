// What a plan says about its cells once they are known: the knee, what binds, and the sentences
// around them.
#pragma once

#include "scenarios/planner/cell_trials.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "sim/plan_result.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// Fills what follows from `plan`'s points, its recommendation and its confidence, which are there.
/// Cells of `space`, points of `plan` and `trials` have the same numbers (or there are no trials);
/// `workload` is that of the first variant.
void judge(PlanResult& plan, const SearchSpace& space, const Workload& workload,
           const CellTrials& trials, Replication replication);

}  // namespace spillway
