// What would bring the nearest cell of a plan without an answer to the SLO: it is run again on the
// workload itself with twice of each resource, one at a time, and with half the load. One run each
// and no interval: it tells apart what helps a lot and what does not.
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/planner/consequences/what_if.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct CounterfactualQuestion {
  PlanCells cells;
  WhatIfBatch run;
  std::uint64_t most_runs = 0;  ///< 0: as many as it takes
};

/// Runs that it takes at most.
inline constexpr std::uint64_t kCounterfactualRuns = 8;

/// Nothing where a cell is recommended, where the plan is undecided and the nearest cell meets the
/// SLO on the workload itself, where no cell can be judged, or where the budget allows no more than
/// a run.
std::optional<Counterfactuals> find_counterfactuals(const CounterfactualQuestion& question);

}  // namespace spillway
