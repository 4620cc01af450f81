// What a plan's cells said on replicates of the workload, kept for estimates and paired
// differences.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/experiment/trial.hpp"
#include "scenarios/planner/selection/selection.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct CellTrial {
  std::uint32_t replicate = 0;
  std::vector<TargetSample> targets;
  double attainment = 0;
  bool cut = false;
};

/// By cell, in the order they were run.
using CellTrials = std::vector<std::vector<CellTrial>>;

/// Share and one-sided bound of a cell's attainment over its whole trials, and the figures of its
/// targets over all of them. The bound is the better of two, each at half of alpha: that of the
/// share itself (target_bound.hpp), and, where every latency target is a share, what their own
/// bounds (target_judge.hpp) leave if no request misses two. Leaves `point` where it has no trials.
void estimate_from(const std::vector<CellTrial>& trials, const SelectionProblem& problem,
                   PlanPoint& point);

}  // namespace spillway
