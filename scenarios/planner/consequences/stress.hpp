// What may happen to the cell that a plan speaks for: more demand, a host less, empty caches, slow
// devices. Each is one run of the workload itself with that changed, without an interval, so that
// it stands beside the cell's own run.
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/planner/consequences/what_if.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

/// Of the session rate, where the scenario does not say: no figure of anybody's, a place to start
/// from.
inline constexpr double kAssumedGrowthPerMonth = 0.05;

struct StressQuestion {
  PlanCells cells;
  int point = 0;  ///< the cell
  WhatIfBatch run;
  const Workload& workload;  ///< that the cell runs on
  std::optional<double> growth_per_month;
  std::uint64_t most_runs = 0;  ///< 0: as many as it takes
  bool verdict_only = false;    ///< outcomes are all that is asked: figures of runs may be partial
};

/// Runs that it takes at most.
inline constexpr std::uint64_t kStressRuns = 11;

/// Nothing where the cell cannot be run as it is.
std::optional<PlanStress> find_stress(const StressQuestion& question);

}  // namespace spillway
