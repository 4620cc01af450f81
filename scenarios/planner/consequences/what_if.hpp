// Runs that ask "what if": a cell with something changed, on a replicate of its workload. The
// planner's sensitivity and its demand scenarios are made of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenarios/experiment/trial.hpp"
#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/observer.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct SloTarget;

/// The cells of a plan as its parts see them: `scenarios[i]` is that of `plan.points[i]`, its
/// capacity set.
struct PlanCells {
  const PlanResult& plan;
  std::vector<const Scenario*> scenarios;
};

/// One run to make.
struct WhatIf {
  Scenario scenario;
  GrowthChoice growth{};    ///< on top of the workload's own
  double compute_time = 1;  ///< multiplies every step's time
  std::uint32_t replicate = 0;
  bool verdict_only = false;  ///< may stop once a target can no longer be met
  std::uint32_t skip = 0;     ///< so many requests at the beginning are left out
  Observer* watch = nullptr;  ///< sees the run, from one thread; outlives the batch
  /// Where `change`, made to `base`, says all that decides the run but the replicate, it may be
  /// found where it was kept; empty: it is made. `base` outlives the batch.
  const Scenario* base = nullptr;
  std::string change{};
};

/// A trial, or why there can be none (a request that fits no pool, a block size that does not
/// divide the trace's).
struct WhatIfAnswer {
  std::optional<Trial> trial;
  std::string refused;
};

/// Answers a batch in its order; may work on it in parallel. Throws OutOfTime where the plan's time
/// is over before all of it is done.
using WhatIfBatch = std::function<std::vector<WhatIfAnswer>(std::span<const WhatIf>)>;

/// Where their workloads come from.
struct WhatIfSource {
  /// A replicate of the plan's workload, which lives as long as this. From any thread.
  std::function<const Workload&(std::uint32_t replicate)> replicate;
  std::uint64_t seed = 1;  ///< of what is drawn where a workload grows
  /// Of what a run on a replicate draws, as the plan's own runs on it have; empty: the scenario's.
  std::function<std::uint64_t(std::uint32_t replicate)> seed_of{};
  /// Of runs with a `change`, from any thread; both or neither.
  std::function<std::optional<Trial>(const WhatIf&)> recall{};
  std::function<void(const WhatIf&, const Trial&)> keep{};
  /// Asked during runs: true is the end of the time for them.
  std::function<bool()> stop{};
};

/// Runs batches on `threads` threads. From any thread, `before` is called ahead of each run, which
/// it may prevent by throwing, and `done` behind it; either may be empty.
WhatIfBatch what_if_runs(WhatIfSource source, unsigned threads, std::function<void()> before,
                         std::function<void()> done);

/// What the replicates together say of one cell: means of what the SLO bounds, against its limits.
/// What a target bounds, over all answers.
struct TargetOutcome {
  double value = 0;
  double margin = 0;  ///< distance to the limit as a share of it; negative when it is missed
  bool met = false;
};

struct WhatIfOutcome {
  double margin = 0;  ///< the least of the targets'
  bool met = false;
  std::size_t tightest = 0;  ///< the target that `margin` is of
  std::vector<TargetOutcome> targets{};
  std::string refused;  ///< why it cannot be run; empty: it can
};

/// Precondition: one answer at least, each to the same question on another replicate.
WhatIfOutcome outcome_of(const std::vector<SloTarget>& slo, std::span<const WhatIfAnswer> answers);

/// What people call a cell.
const std::string& cell_name(const PlanPoint& point);

/// `cost` with every step's time multiplied, rounded up to a nanosecond.
std::unique_ptr<StepCost> make_scaled_cost(std::unique_ptr<StepCost> cost, double factor);

}  // namespace spillway
