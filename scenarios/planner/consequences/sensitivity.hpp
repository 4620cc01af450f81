// What would change the recommendation: each factor moved by a fifth while all else stays, and how
// far it may move before the recommended cell misses the SLO.
//
// Every run is of the same replicates (common random numbers), so that what differs is the factor.
// No monotonicity is assumed: from 1 outwards the first step of a grid that changes the verdict
// brackets the crossing, and halving narrows it. What lies beyond it is not looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/planner/consequences/what_if.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct SensitivityQuestion {
  PlanCells cells;
  std::vector<std::uint32_t> replicates;  ///< as many of the first as the budget allows
  WhatIfBatch run;
  std::uint64_t most_runs = 0;  ///< 0: as many as it takes
};

/// Nothing where no cell is recommended. Deterministic in what the runs answer.
std::optional<Sensitivity> find_sensitivity(const SensitivityQuestion& question);

/// How many runs a plan that made `runs` may spend on it: about a third on top, and enough for the
/// factors themselves.
std::uint64_t sensitivity_budget(std::uint64_t runs);

}  // namespace spillway
