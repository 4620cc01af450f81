// What a plan's cells said on replicates of the workload, kept for estimates and paired
// differences.
#pragma once

#include <cstdint>
#include <utility>
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
  std::uint32_t length = 1;  ///< of the replicate, times the usual one
  std::string standstill{};  ///< Trial::standstill
};

/// By cell, in the order they were run.
using CellTrials = std::vector<std::vector<CellTrial>>;

/// The whole trials of two cells on the replicates that both ran, in the same order.
std::pair<std::vector<CellTrial>, std::vector<CellTrial>> trials_in_common(
    const std::vector<CellTrial>& a, const std::vector<CellTrial>& b);

/// How often a server ceased to serve in these trials of a cell, and whether that decides that it
/// misses `targets`.
Standstills standstills_of(const std::vector<CellTrial>& trials,
                           const std::vector<TargetEstimate>& targets);

/// Target number `index` as these trials have it: figure, share and whether it is met.
/// Precondition: not empty.
TargetEstimate estimate_over(const std::vector<CellTrial>& trials, std::size_t index,
                             TargetEstimate target);

/// Share and one-sided bound of a cell's attainment, and the figures of its targets, over the whole
/// trials that it is judged by: the fresh ones of a verified cell, else the screening's. The bound
/// is what `selected` says may miss any target, at the level of its targets' own bounds; else that
/// of the share itself. Where runs were cut, the share is the most that it can be, and nothing is
/// known from below. Leaves `point` where it has no trials.
void estimate_from(const std::vector<CellTrial>& trials, const SelectionProblem& problem,
                   const SelectedCell& selected, PlanPoint& point);

}  // namespace spillway
