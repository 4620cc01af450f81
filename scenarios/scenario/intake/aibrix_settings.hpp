// AIBrix KVCache's variables (AIBRIX_KV_CACHE_OL_*), which vLLM's connector of it reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

/// Names behind AIBRIX_KV_CACHE_OL_.
std::span<const SettingRow> aibrix_variables();

/// The preset with its tiers and keys. `connector` as vLLM is told it; `ranks` of one engine.
void read_aibrix_settings(const EngineCall& call, const std::string& connector, std::int64_t ranks,
                          Draft& draft);

}  // namespace spillway
