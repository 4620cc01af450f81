// A plan that its workload is too short for: why it cannot judge its sizes, and what it would take.
#pragma once

#include <optional>
#include <string>

#include "scenarios/planner/cells/search_space.hpp"
#include "sim/plan_result.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct TooShort {
  std::string why;
  std::string would_decide;
};

/// Where all cells that were judged miss the SLO, and others could not be judged as `replicate`,
/// one of those that the plan drew, never fills them. Precondition: the plan is undecided.
std::optional<TooShort> too_short(const PlanResult& plan, const SearchSpace& space,
                                  const Workload& replicate);

}  // namespace spillway
