// A plan's sensitivity to JSON and back.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan_parts.hpp"

namespace spillway {

nlohmann::json to_json(const Sensitivity& sensitivity);

/// Throws nlohmann::json::exception when a member is missing or of another type.
Sensitivity sensitivity_from_json(const nlohmann::json& sensitivity);

}  // namespace spillway
