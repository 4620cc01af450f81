// PlanResult to JSON and back, by the tables of plan_fields.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/plan_result.hpp"

namespace spillway {

nlohmann::json to_json(const PlanResult& plan);

/// Throws nlohmann::json::exception when a member is missing or of another type.
PlanResult plan_from_json(const nlohmann::json& results);

}  // namespace spillway
