// The configuration a run really used, defaults included, as JSON for "inputs".
#pragma once

#include <nlohmann/json.hpp>

#include "scenarios/scenario/scenario.hpp"

namespace spillway {

nlohmann::json resolved_configuration(const Scenario& scenario);

/// {"name", "format", "content_hash", "requests", "rows", "block_tokens"} of a trace whose requests
/// were read, and no more: "content_hash" covers arrivals, lengths and blocks.
nlohmann::json trace_inputs(const WorkloadSource& source, std::uint32_t block_tokens,
                            std::uint64_t requests_hash);
/// The same of a workload, and "links_hash" where its trace names sessions, tenants or links.
nlohmann::json trace_inputs(const Workload& workload);

/// "inputs" of a run or plan: scenario name and path, resolved configuration and its hash, trace,
/// seed.
nlohmann::json scenario_inputs(const Scenario& scenario, const Workload& workload);

}  // namespace spillway
