// The planner: the cell of the search space that the objective likes best among those that meet the
// scenario's SLO with confidence.
//
// Every cell runs on the workload itself; what is reported of it is that run. Then cells run on
// replicates of the workload, a few each over the whole range (no monotonicity is assumed: a larger
// tier can be slower when its link saturates), then a few finalists on many fresh ones
// (selection.hpp). With plan.replications 1 the runs of the workload itself decide.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/planner/runs/trial_runner.hpp"
#include "sim/note.hpp"
#include "sim/plan_result.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

struct PlanOptions {
  unsigned threads = 1;
  std::string cache;    ///< folder for runs that a later plan may find; empty: none are kept
  double budget_s = 0;  ///< of wall time; 0: none
  /// What confidence is about: traffic like a trace's, of which replicates tell more and more; or
  /// all recordings of its service, of which one recording is one sample whatever is drawn from it.
  bool other_recordings = false;
  /// Called for each combination of plan.search before anything runs; may throw.
  std::function<void(Scenario&)> check{};
  ReadProgress reading{};  ///< of traces
  /// Told before anything runs which units are probably not meant
  /// (experiment/doubts/input_doubts.hpp).
  std::function<void(const Notes&)> doubts{};
  /// Told (runs done, runs expected in all), from any thread.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
  /// Told what the runs to come are for, where that is not the decision itself.
  std::function<void(std::string_view)> phase{};
};

struct PlanOutcome {
  PlanResult result;
  nlohmann::json inputs;  ///< of the document
  Notes warnings;
  std::uint64_t work = 0;  ///< of the runs on replicates that decided (Trial::work)
};

/// Throws InputError (exit 2) where the scenario lacks what a plan needs, and what simulate()
/// throws.
PlanOutcome make_plan(const JsonSource& source, const PlanOptions& options);

/// The same of a scenario as it is, plan.search left out, on a workload that is there already.
PlanOutcome plan_sizes(const Scenario& scenario, const Workload& workload, unsigned threads,
                       const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace spillway
