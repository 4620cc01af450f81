// What a client process of Mooncake Store is told: SGLang's own client, mooncake_client and the
// store service.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

/// Of SGLang's client, by their names in its file, from the one source that it reads: the keys of
/// `extra` (--hicache-storage-backend-extra-config, or null), the file of
/// SGLANG_HICACHE_MOONCAKE_CONFIG_PATH, or `variables` behind MOONCAKE_. What is not looked at
/// stands among the remarks.
StoreSettings mooncake_client_settings(const EngineCall& call, const nlohmann::ordered_json& extra,
                                       const StoreSettings& variables, Draft& draft);

/// Of vLLM's connector, from the file of MOONCAKE_CONFIG_PATH.
StoreSettings vllm_client_settings(const EngineCall& call, const StoreSettings& variables,
                                   Draft& draft);

/// The memory that a process of its own lends; nothing where it does not say.
std::optional<StoreSetting> lent_segment(const EngineCall& process);
/// Whether it lends an SSD.
bool lends_ssd(const EngineCall& process);

/// Bytes, or a number of GiB ("4gb"); mooncake_client (`spaced`) knows further units and spaces.
/// Throws InputError (exit 2).
std::int64_t segment_bytes(const StoreSetting& setting, bool spaced);

/// Whether a key is one of the file of a client.
bool is_mooncake_client_key(std::string_view key);

inline constexpr std::int64_t kMostStoreBytes = std::int64_t{1} << 50;

}  // namespace spillway
