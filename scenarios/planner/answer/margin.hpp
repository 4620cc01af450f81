// How far a recommendation is from failing: the events that break it, the nearest first, and
// whether the next size up survives more of them.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "scenarios/planner/consequences/what_if.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// From what sensitivity and stress found. `larger` are cells of larger sizes, ascending: the first
/// that survives more is the next size. `stress_of` answers what stress finds at one of them; it is
/// asked where something breaks the recommendation. Nothing where neither was asked for.
std::optional<PlanMargin> find_margin(
    const PlanResult& plan, std::span<const int> larger,
    const std::function<std::optional<PlanStress>(int cell)>& stress_of);

/// Runs the nearest events that have a distance again, on `replicates` of the recommended cell
/// `scenario`, until `most` of them are shown to break it: those that do not are dropped. Throws
/// OutOfTime.
void confirm_events(PlanMargin& margin, const Scenario& scenario, const WhatIfBatch& run,
                    std::span<const std::uint32_t> replicates, std::size_t most);

}  // namespace spillway
