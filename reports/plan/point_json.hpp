// A plan's cells to JSON and back.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/plan_result.hpp"

namespace spillway {

/// met, missed, looks-met, looks-missed, excluded.
std::string_view name_of(CellVerdict verdict);

nlohmann::json to_json(const PlanPoint& point);

/// Throws nlohmann::json::exception when a member is missing or of another type.
PlanPoint point_from_json(const nlohmann::json& j);

}  // namespace spillway
