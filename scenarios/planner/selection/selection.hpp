// Which cells meet the SLO, and with what confidence: screening, finalists, fresh seeds in growing
// stages, one-sided bounds. Knows nothing of scenarios: a cell is a number with a rank of
// preference, a trial what it answers on one replicate.
//
// Screening runs every cell on the same few replicates and assumes no shape. A cell is dropped once
// it is shown to miss. Shown by a bound, or by Markov's inequality: figures that are not negative
// and have a mean of at most L are 20 L or more in at most one run of twenty, whatever their
// distribution, so one such run is enough. Along a line of sizes, screened figures are smoothed by
// an isotonic fit unless they rise and fall by more than their errors.
//
// Finalists are the anchor (the most preferred cell that screening shows clear of its limits), all
// preferred cells that look met, and a few that nearly do or are reserves behind the anchor. They
// are judged on fresh replicates alone, so the choice among many cells does not flatter them. A
// finalist holds when the bounds of all its targets hold; each target may use the whole alpha, as a
// cell that misses is only recommended where the target that it misses is wrongly believed
// (intersection-union, Berger 1982). Alpha is split over stages by their replications, and over
// finalists by Wiens' fallback procedure (2003): each has a share, and one that holds hands its
// alpha to the next in line. The order and shares depend on the screening only. So, whatever the
// curve, the chance of recommending a cell that misses is at most 1 - confidence, as far as the
// bounds keep their level.
//
// Where nothing holds after these stages, or runs are too short for their queues (clusters.hpp),
// what is open is judged on replicates that are longer, as long as a limit of work allows
// (longer_runs.hpp). They are fresh draws, judged alone; half of alpha is kept for them, beside
// what stages that were left out would have spent. How much of it a stage spends is fixed before
// its runs are made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/experiment/miss_ladder.hpp"
#include "sim/paired_difference.hpp"

namespace spillway {

/// What one run of a cell says: one sample for each target.
struct CellSample {
  std::vector<double> x;
  std::vector<double> weight;  ///< requests behind each x; 0: none, the sample counts for nothing
  /// By target, of those about requests: how slow ones are spread over the run. May be left empty.
  std::vector<MissLadder> ladder{};
  double work = 0;        ///< that the run took (Trial::work)
  bool cut = false;       ///< stopped early: the whole run would be at least this far off
  bool excluded = false;  ///< cannot be judged (cold-limited)
};

struct SelectionTarget {
  std::string name;
  double limit = 0;
  bool at_least = false;
  bool share = false;  ///< x is a share of requests: bounds are taken on the logit scale near 0, 1
};

struct SelectionProblem {
  std::uint32_t cells = 0;
  std::vector<std::string> names;  ///< of the cells, for sentences
  /// Cells by preference, the best first: what is recommended is the first that holds.
  std::vector<std::uint32_t> preference;
  /// Lines of cells that differ in size alone, ascending: what a curve is fitted along.
  std::vector<std::vector<std::uint32_t>> lines;
  std::vector<SelectionTarget> targets;
  double confidence = 0.95;
  std::uint32_t most_replications = 40;
  std::uint64_t max_runs = 0;     ///< 0: none
  std::uint64_t runs_before = 0;  ///< of these, made already
  Replication replication = Replication::kIndependent;
  /// Of a replicate, in recordings: a resample of k of them has 1/k of their variance.
  double length = 1;
  /// Longer replicates (RunRequest::length) may take so much work in all; 0: none are made.
  double work_for_longer = 0;
  std::uint32_t longest = 1;  ///< of these, times the usual length
  /// Of a replicate of the usual length, for sentences; 0: not known.
  std::uint64_t requests = 0;
  /// Told before each batch how many runs are likely from here on.
  std::function<void(std::uint64_t)> expects{};
};

/// For sentences.
std::string name_of(const SelectionProblem& problem, std::uint32_t cell);

enum class SelectionState : std::uint8_t { kMet, kMissed, kLooksMet, kLooksMissed, kExcluded };

struct SelectedCell {
  SelectionState state = SelectionState::kLooksMissed;
  /// A stable word: "slo" (missed), "not-needed" (a preferred cell holds), "less-likely" (more
  /// likely cells took its place among the finalists), "budget" (undecided when runs ended),
  /// "cold-limited"; empty where it holds.
  std::string reason;
  /// Behind `mean`: finalists' fresh ones, for others those of the screening; 0: not run, no mean.
  std::uint32_t replications = 0;
  std::uint32_t length = 1;  ///< of these, times as long as usual
  std::vector<double> mean;  ///< by target
  /// One-sided, on the worse side (above, for a target that is an upper limit), at the level at
  /// which the cell was judged. Empty with fewer than kLeastReplications.
  std::vector<double> bound;
  double alpha = 0;  ///< that level; 0: not judged
  /// What share of requests may miss any target, at the same level: what may miss each together.
  /// Where every latency target is a share; of a single one its bound.
  std::optional<double> any_missed{};
};

struct Selection {
  std::vector<SelectedCell> cells;
  int recommended = -1;
  bool undecided = false;                ///< the budget ended first: exit 5, with what would decide
  std::vector<std::uint32_t> finalists;  ///< in the order of their test
  std::vector<std::uint32_t> stages;     ///< fresh replications after each
  std::uint64_t runs = 0;                ///< those made before among them
  std::string boundary;                  ///< smooth, cliff, non_monotone, none
  std::string stop_reason;
  std::string would_decide;  ///< of an undecided one
  bool out_of_time = false;  ///< a batch was not answered whole
  bool out_of_runs = false;  ///< max_runs ended it
  bool cut_short = false;    ///< a budget ended before preferred cells were verified
  int nearest = -1;          ///< recommended, else the least far from it on the screening
  int provisional = -1;      ///< what an undecided one would say on what is known, unbacked
};

/// Replicates that every cell is screened on: numbers 0, 1 and 2. Those of finalists follow.
inline constexpr std::uint32_t kScreening = 3;
/// For the progress, before anything is known: three finalists to the end of the second stage.
inline constexpr std::uint64_t kUsualFinalRuns = 60;

/// One run to make. `replicate` numbers below kScreening are of the screening, others are fresh.
/// Replicates of another `length` are other draws, whatever their number.
struct RunRequest {
  std::uint32_t cell = 0;
  std::uint32_t replicate = 0;
  bool may_cut = false;      ///< its verdict is all that is needed
  std::uint32_t length = 1;  ///< times as long as usual
};

/// Answers a batch of requests, in their order; may work on them in parallel. Fewer answers than
/// requests: the time is over.
using RunBatch = std::function<std::vector<CellSample>(std::span<const RunRequest>)>;

/// Deterministic in what `run` answers. Preconditions: every cell is in `preference` once; targets
/// are given.
Selection select_cell(const SelectionProblem& problem, const RunBatch& run);

}  // namespace spillway
