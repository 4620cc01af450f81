// FlexKV's settings: FLEXKV_* of the environment, or the file that FLEXKV_CONFIG_PATH names, which
// goes before them.
#pragma once

#include <span>

#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

/// Names behind FLEXKV_.
std::span<const SettingRow> flexkv_variables();

/// Whether the keys of a file are FlexKV's.
bool is_flexkv_key(std::string_view key);

/// The preset with its tiers and keys.
void read_flexkv_settings(const EngineCall& call, Draft& draft);

}  // namespace spillway
