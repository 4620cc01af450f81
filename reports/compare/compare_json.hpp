// CompareResult to JSON and back, by the table of its members (compare_fields.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/compare_result.hpp"

namespace spillway {

nlohmann::json to_json(const CompareResult& result);
/// Throws nlohmann::json::exception when a member is missing or of another type.
CompareResult compare_from_json(const nlohmann::json& results);

}  // namespace spillway
