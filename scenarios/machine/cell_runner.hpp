// Measures the cells of all benches within a time budget: coarse ones first, unstable ones again.
//
// A cell that would not fit into what is left of the budget is left out, and smaller ones after it
// may still be measured. How long cells take is learnt bench by bench: a busy machine is slower
// than the plan. When all have been measured, unstable cells are measured again in shuffled order,
// up to three times each; the steadier row stays.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/machine/bench.hpp"

namespace spillway {

/// "1.50 GiB".
std::string size_of(std::int64_t bytes);

using BenchList = std::vector<std::unique_ptr<Bench>>;

struct RunCell {
  CellPlan plan;
  std::size_t bench = 0;    ///< in the list
  nlohmann::json row;       ///< null: not measured
  std::uint32_t runs = 0;   ///< by this process
  std::string key() const;  ///< section and request: the cell's identity
  bool measured() const { return !row.is_null(); }
  bool unstable() const;  ///< measured, valid, and not stable
};

/// The cells of all benches in the order in which they are measured: by priority, then bench by
/// bench. Of the sections in `only`, unless it is empty.
std::vector<RunCell> collect_cells(const BenchList& benches, const BenchLimits& limits,
                                   const std::vector<std::string>& only,
                                   std::vector<std::string>& missing);

/// Sum of what the cells are expected to take that fit into the budget; `fits` says which.
double planned_s(const std::vector<RunCell>& cells, double budget_s, std::vector<bool>& fits);

struct RunOptions {
  double budget_s = 60;
  double spent_s = 0;  ///< of the budget, by a run that this one continues
  std::uint64_t seed = 1;
  std::function<double()> now;  ///< seconds that never go back
  std::function<bool()> stop;   ///< asked between cells
  /// A row has come, for the first time or in place of one before.
  std::function<void(const RunCell&)> on_row;
  std::function<void(double done_s, double total_s)> progress;
};

struct LostBench {
  std::string name;
  std::string reason;
  std::size_t cells = 0;  ///< that were not measured therefore
};

struct RunOutcome {
  std::vector<LostBench> lost;
  std::size_t repeats = 0;
  double spent_s = 0;  ///< with options.spent_s
  bool stopped = false;
};

/// Fills the rows of `cells` that have none.
RunOutcome run_cells(const BenchList& benches, std::vector<RunCell>& cells,
                     const RunOptions& options);

}  // namespace spillway
