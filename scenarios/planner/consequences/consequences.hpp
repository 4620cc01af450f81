// What follows from a plan's cells beyond which one is best: what they cost, how they do under
// other demand, what would change the answer, or what would bring one about where there is none.
#pragma once

#include <optional>
#include <vector>

#include "scenarios/planner/cell_trials.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/planner/consequences/prices.hpp"
#include "scenarios/planner/runs/trial_runner.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct PlanChoice;

/// The prices of `choice`, where it names any.
std::optional<Prices> prices_of(const PlanChoice& choice);

/// Throws InputError (exit 2), before anything runs, where a price is missing that the objective
/// needs.
void check_prices(const SearchSpace& space);

/// By cell, larger is better: what the objective wants beyond sizes. Empty for least-dram. `plan`
/// has the runs of the workload itself. Throws InputError (exit 2) where a price is missing.
std::vector<double> scores_of(const PlanResult& plan, const SearchSpace& space,
                              const std::optional<Prices>& prices);

/// Runs that add_consequences() may make behind `runs` others, for the progress: what it is
/// allowed, of which it seldom takes all.
std::uint64_t consequence_runs(const SearchSpace& space, std::uint64_t runs);

/// Fills cost, regret, sensitivity, counterfactuals, stress, margin, ceiling and what would change
/// the answer of `plan`, whose cells are judged. Keeps to plan.max_runs and to the runner's time,
/// and notes what was left out for want of either. `replication` is how the trials' replicates are
/// related; `source` is what the cells were read from, null: nothing is changed by key.
void add_consequences(PlanResult& plan, const SearchSpace& space, const CellTrials& trials,
                      const std::optional<Prices>& prices, Replication replication,
                      TrialRunner& runner, const JsonSource* source);

/// The floor of the cells of `plan`, which have their runs of the workload itself: of the settings
/// with the lowest. None where `source` is null, or no runs or time are left for it.
void find_plan_floor(PlanResult& plan, const SearchSpace& space, TrialRunner& runner,
                     const JsonSource* source);

}  // namespace spillway
