// What may happen to a plan's cell, in the plan's document.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan_parts.hpp"

namespace spillway {

nlohmann::json to_json(const PlanStress& stress);
PlanStress stress_from_json(const nlohmann::json& j);

/// "met", "missed", "down", "not-asked".
std::string_view word(StressOutcome outcome);

}  // namespace spillway
