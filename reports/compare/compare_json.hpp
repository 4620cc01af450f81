// CompareResult to JSON and back, under the key names of the contract.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/compare_result.hpp"

namespace spillway {

nlohmann::json to_json(const CompareResult& result);
/// Throws nlohmann::json::exception when a member is missing or of another type.
CompareResult compare_from_json(const nlohmann::json& results);

std::string_view name_of(Verdict verdict);

}  // namespace spillway
