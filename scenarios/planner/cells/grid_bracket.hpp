// Grids that a recipe filled in, extended until an answer lies within them.
//
// The ends of the grid run once on the workload itself, which the plan needs anyway. Where the best
// end misses the SLO, or every load meets it, the grid goes on by doubling (loads that miss: by
// halves) until one value misses and its neighbour meets; then it is filled in between them as
// finely as the recipe does. Grids that a person wrote stay as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/planner/runs/trial_runner.hpp"
#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

/// Runs of cells on the workload itself, made already.
using KnownTrials = std::map<std::uint32_t, Trial>;

struct BracketedGrid {
  JsonSource source;  ///< with the values that are tried
  SearchSpace space;  ///< `ends` says where it stopped without a bracket
  KnownTrials known;
};

/// `check` is called for each combination that is added; may throw.
BracketedGrid bracket_grid(const JsonSource& source, SearchSpace space, TrialRunner& runner,
                           const std::function<void(Scenario&)>& check);

}  // namespace spillway
