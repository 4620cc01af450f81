// KVBM's variables (DYN_KVBM_*), which Dynamo's connector reads.
#pragma once

#include <span>

#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

/// Names behind DYN_KVBM_.
std::span<const SettingRow> kvbm_variables();

/// The preset with its tiers and keys.
void read_kvbm_settings(const EngineCall& call, Draft& draft);

}  // namespace spillway
