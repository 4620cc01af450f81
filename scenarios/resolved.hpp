// The configuration a run really used, defaults included, as JSON for "inputs".
#pragma once

#include <nlohmann/json.hpp>

#include "scenarios/scenario.hpp"

namespace spillway {

nlohmann::json resolved_configuration(const Scenario& scenario);

/// {"name", "format", "content_hash", "requests", "block_tokens"} of a workload.
nlohmann::json trace_inputs(const Workload& workload);

/// "inputs" of a run or plan: scenario name and path, resolved configuration and its hash, trace,
/// seed.
nlohmann::json scenario_inputs(const Scenario& scenario, const Workload& workload);

}  // namespace spillway
