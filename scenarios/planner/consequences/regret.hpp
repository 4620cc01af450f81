// How cells do over several scenarios of demand: the one whose worst regret is least is the safest
// answer, where it is not known which demand will come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scenarios/planner/consequences/prices.hpp"
#include "scenarios/planner/consequences/what_if.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct DemandChoice;

struct RegretQuestion {
  PlanCells cells;
  std::span<const DemandChoice> demand;
  Objective objective = Objective::kLeastDram;
  const Prices* prices = nullptr;         ///< null: regret is in what the objective counts
  std::vector<std::uint32_t> replicates;  ///< the first is the most telling
  WhatIfBatch run;
  std::uint64_t most_runs = 0;  ///< 0: as many as it takes
};

/// Nothing where the plan has no demand scenarios. The workload as it is counts as the first one,
/// judged as the plan has judged its cells: one that the plan does not back is behind all that it
/// does, whatever it does under the others. Precondition: a run for each demand is allowed.
std::optional<PlanRegret> find_regret(const RegretQuestion& question);

}  // namespace spillway
