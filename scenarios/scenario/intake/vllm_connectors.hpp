// What vLLM moves KV with (--kv-transfer-config), as tiers of a scenario.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"

namespace spillway {

/// `config` as the flag has it, `written` as it is told.
void read_connector(const EngineCall& call, const nlohmann::ordered_json& config,
                    const std::string& written, Draft& draft);

/// tiers.0 in host memory.
void set_dram_tier(std::int64_t bytes, const std::string& origin, Draft& draft);

/// Ranks of one engine, as the draft has them so far.
std::int64_t ranks_of(const Draft& draft);

/// Capacity and sharing of a tier, where it lies on a volume whose size is known. False: it is not.
bool set_volume(const EngineCall& call, const std::string& path, const std::string& tier,
                Draft& draft);

}  // namespace spillway
