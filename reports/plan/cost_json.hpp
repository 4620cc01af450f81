// What a plan says of cost and regret, to JSON and back.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan_parts.hpp"

namespace spillway {

nlohmann::json to_json(const PlanCost& cost);
nlohmann::json to_json(const PlanRegret& regret);

/// Both throw nlohmann::json::exception when a member is missing or of another type.
PlanCost cost_from_json(const nlohmann::json& cost);
PlanRegret regret_from_json(const nlohmann::json& regret);

}  // namespace spillway
