// Mooncake Store as SGLang and vLLM are told it, with the processes that stand beside the engine:
// the master, and clients that lend memory.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

/// Names behind MOONCAKE_.
std::span<const SettingRow> mooncake_variables();

/// The store as tiers.1 and its SSD as tiers.2. `extra`: --hicache-storage-backend-extra-config, or
/// null. `ranks` of one engine.
void read_mooncake_store(const EngineCall& call, const nlohmann::ordered_json& extra,
                         std::int64_t ranks, Draft& draft);

/// The store of vLLM's MooncakeStoreConnector: preset mooncake, the store as tiers.0.
void read_vllm_mooncake(const EngineCall& call, std::int64_t ranks, Draft& draft);

/// Processes of the store without an engine: preset mooncake-client.
void read_mooncake_alone(const EngineCall& call, Draft& draft);

}  // namespace spillway
