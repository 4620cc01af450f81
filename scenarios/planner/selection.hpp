// Which cells meet the SLO, and with what confidence: screening, finalists, fresh seeds in growing
// stages, one-sided bounds. Knows nothing of scenarios: a cell is a number with a rank of
// preference, a trial what it answers on one replicate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/paired_difference.hpp"

namespace spillway {

/// What one run of a cell says: one sample for each target.
struct CellSample {
  std::vector<double> x;
  std::vector<double> weight;  ///< requests behind each x
  bool cut = false;            ///< stopped early: its x are at least (at most) what they would be
  bool excluded = false;       ///< cannot be judged (cold-limited)
};

struct SelectionTarget {
  double limit = 0;
  bool at_least = false;
  bool share = false;  ///< x is a share of requests: bounds are taken on the logit scale near 0, 1
};

struct SelectionProblem {
  std::uint32_t cells = 0;
  /// Cells by preference, the best first: what is recommended is the first that holds.
  std::vector<std::uint32_t> preference;
  /// Lines of cells that differ in size alone, ascending: what a curve is fitted along.
  std::vector<std::vector<std::uint32_t>> lines;
  std::vector<SelectionTarget> targets;
  double confidence = 0.95;
  std::uint32_t most_replications = 40;
  std::uint64_t max_runs = 0;  ///< 0: none
  Replication replication = Replication::kIndependent;
  /// Of a replicate, in recordings: a resample of k of them has 1/k of their variance.
  double length = 1;
};

enum class SelectionState : std::uint8_t { kMet, kMissed, kLooksMet, kLooksMissed, kExcluded };

struct SelectedCell {
  SelectionState state = SelectionState::kLooksMissed;
  std::string
      reason;  ///< a stable word: "slo", "dominated", "not-needed", "cold-limited", "budget"
  std::uint32_t replications = 0;
  std::vector<double> mean;   ///< by target
  std::vector<double> bound;  ///< one-sided, towards the limit
};

struct Selection {
  std::vector<SelectedCell> cells;
  int recommended = -1;
  bool undecided = false;  ///< the budget ended first: exit 5, with what would decide
  std::vector<std::uint32_t> finalists;
  std::vector<std::uint32_t> stages;  ///< replications after each
  std::uint64_t runs = 0;
  std::string boundary;  ///< smooth, cliff, non_monotone, none
  std::string stop_reason;
  std::string would_decide;  ///< of an undecided one
};

/// One run to make. `fresh` replicates are never those of the screening.
struct RunRequest {
  std::uint32_t cell = 0;
  std::uint32_t replicate = 0;
  bool may_cut = false;  ///< its verdict is all that is needed
};

/// Answers a batch of requests, in their order; may work on them in parallel.
using RunBatch = std::function<std::vector<CellSample>(std::span<const RunRequest>)>;

/// Deterministic in what `run` answers.
Selection select_cell(const SelectionProblem& problem, const RunBatch& run);

}  // namespace spillway
