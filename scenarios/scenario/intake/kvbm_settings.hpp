// KVBM's variables (DYN_KVBM_*, of v2 KVBM_*), which Dynamo's connector reads.
#pragma once

#include <span>

#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

/// Names behind DYN_KVBM_.
std::span<const SettingRow> kvbm_variables();

/// The preset with its tiers and keys.
void read_kvbm_settings(const EngineCall& call, Draft& draft);

/// Names behind KVBM_.
std::span<const SettingRow> kvbm_v2_variables();

/// The same of v2. `extra`: the connector's own settings.
void read_kvbm_v2_settings(const EngineCall& call, const nlohmann::ordered_json& extra,
                           Draft& draft);

}  // namespace spillway
