// How far a recommendation is from failing: the events that break it, the nearest first, and
// whether the next size up survives more of them.
#pragma once

#include <functional>
#include <optional>

#include "sim/plan_result.hpp"

namespace spillway {

/// From what sensitivity and stress found. `stress_of` answers what they found at another cell,
/// `next` (-1: there is no larger size); it is asked where something breaks the recommendation.
/// Nothing where neither was asked for.
std::optional<PlanMargin> find_margin(
    const PlanResult& plan, int next,
    const std::function<std::optional<PlanStress>(int cell)>& stress_of);

}  // namespace spillway
