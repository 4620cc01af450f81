// Whether a tier makes a service slower, and by which mechanism.
#pragma once

#include <optional>
#include <string>

#include "scenarios/planner/judgement/plan_facts.hpp"
#include "sim/result.hpp"

namespace spillway {

/// What a tier costs a run in time of steps, and what it does for it.
struct TierHarm {
  double lost_share = 0;    ///< of the run's time: waits, copies and the connector
  double served_share = 0;  ///< of prompt tokens, from below HBM
  std::string how;          ///< in sentences; empty: not known
};

/// Of prompt tokens, what tiers below HBM served.
double served_below(const RunResult& run);

TierHarm harm_of(const RunResult& without, const RunResult& with);

/// How much worse `at` is than `before`, as a share; negative where it is better.
double loss(const TargetView& before, const TargetView& at);

/// The target by which the second cell does worse than the first: one that was met and is missed,
/// else the tightest, where it is worse by more than noise and so is the whole. A figure far within
/// its target does not count against one that improves, nor one that scatters as much.
std::optional<std::size_t> hurt_target(const Compared& both);

}  // namespace spillway
