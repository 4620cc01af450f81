// Cells of a plan with keys changed, run as the plan's own cells are.
//
// A change is an assignment to the scenario's file, as --set makes it, so that everything that
// follows from it (the pool that a batch size leaves, what a release switches) is derived again. A
// change that makes no valid scenario, or one that cannot be run, is refused with the reason.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/planner/consequences/what_if.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct SloTarget;

/// One configuration to run.
struct Configuration {
  ChangeKind kind = ChangeKind::kFlag;
  std::vector<KeyChange> changes;
  /// One request at a time and tiers without bound.
  bool alone = false;
  double compute_time = 1;    ///< multiplies every step's time
  double copy_rate = 1;       ///< multiplies the rates of links and storage
  double context = 1;         ///< multiplies the tokens of prompts and answers
  double load = 1;            ///< multiplies the arrival rate
  double sessions = 1;        ///< multiplies the sessions, as forecasts do
  bool unbounded = false;     ///< the tier has no bound
  bool verdict_only = false;  ///< the run may stop once a target can no longer be met
};

class Configurations {
 public:
  /// `run` answers on the workload of the plan's cells; all outlive this.
  Configurations(const JsonSource& source, const SearchSpace& space, WhatIfBatch run,
                 bool judged_by_itself)
      : source_(source), space_(space), run_(std::move(run)), by_itself_(judged_by_itself) {}

  /// Cell number `cell` changed. Throws InputError for what is no valid scenario.
  Scenario scenario(int cell, std::span<const KeyChange> changes) const;

  /// Each of `asked`, changes to `cell`, on the workload itself (`replicates` empty) or the mean
  /// over those replicates. In their order; what cannot be run is `refused`. Throws OutOfTime.
  std::vector<TriedChange> run(int cell, std::span<const Configuration> asked,
                               std::span<const std::uint32_t> replicates = {});
  std::uint64_t runs() const { return runs_; }

 private:
  WhatIf what_if(int cell, const Configuration& asked) const;
  void judge(const Configuration& asked, const std::vector<SloTarget>& slo,
             std::span<const WhatIfAnswer> answers, TriedChange& out) const;

  const JsonSource& source_;
  const SearchSpace& space_;
  WhatIfBatch run_;
  bool by_itself_;  ///< a plan without replicates: every request has to be done, too
  std::uint64_t runs_ = 0;
};

/// Whether a target bounds a latency from above: what a floor can be of.
bool bounds_latency(const SloTarget& target);

}  // namespace spillway
