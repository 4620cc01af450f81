// The configuration a run really used as JSON for "inputs": what was set, and what follows from it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// Settings under the names that scenarios give them, with what follows from them in their place.
nlohmann::json resolved_configuration(const Scenario& scenario);
/// Equal for scenarios that mean the same, wherever they lie: no paths, labels or origins. `plan`
/// and `sweep` are parts of its "settings" and "derived".
nlohmann::json configuration_identity(const Scenario& scenario);

/// {"name", "format", "content_hash", "requests", "rows", "block_tokens"} of a trace whose requests
/// were read, and no more: "content_hash" covers arrivals, lengths and blocks.
nlohmann::json trace_inputs(const WorkloadSource& source, std::uint32_t block_tokens,
                            std::uint64_t requests_hash);
/// The same of a workload, and "links_hash" where its trace names sessions, tenants or links.
nlohmann::json trace_inputs(const Workload& workload);

/// "inputs" of a document about a scenario: name and path, "configuration" (as resolved), its hash,
/// "settings" (as written, with defaults: may be pasted back as a scenario), "origins" (by dotted
/// key; a key without one has its default), seed.
nlohmann::json scenario_inputs(const Scenario& scenario);
/// The same of a run or plan, with the trace and what was measured.
nlohmann::json scenario_inputs(const Scenario& scenario, const Workload& workload);

}  // namespace spillway
