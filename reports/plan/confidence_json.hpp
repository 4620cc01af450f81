// How sure a plan is, and what each cell's targets are in all replications together, to JSON and
// back.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan_result.hpp"

namespace spillway {

nlohmann::json to_json(const PlanConfidence& confidence);
nlohmann::json to_json(const TargetEstimate& target);

/// Throw nlohmann::json::exception when a member is missing or of another type.
PlanConfidence confidence_from_json(const nlohmann::json& j);
TargetEstimate target_from_json(const nlohmann::json& j);

}  // namespace spillway
