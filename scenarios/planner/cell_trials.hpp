// What a plan's cells said on replicates of the workload, kept for estimates and paired
// differences.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/experiment/trial.hpp"
#include "sim/paired_difference.hpp"
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

/// Mean and one-sided bound of a cell's attainment over its whole trials, and the figures of its
/// targets over all of them. Leaves `point` where it has none.
void estimate_from(const std::vector<CellTrial>& trials, Replication replication, double confidence,
                   PlanPoint& point);

}  // namespace spillway
