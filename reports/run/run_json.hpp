// RunResult to JSON and back, under the key names of the contract.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/result.hpp"

namespace spillway {

nlohmann::json to_json(const RunResult& run);

/// Throws nlohmann::json::exception when a member is missing or of another type.
RunResult run_from_json(const nlohmann::json& results);

}  // namespace spillway
