// LMCache's own settings as a scenario: environment variables (LMCACHE_*), its YAML file, what
// production-stack's chart makes of them (lmcacheConfig).
#pragma once

#include <cstdint>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"

namespace spillway {

/// Of the environment of the engine, and of the file that it names (LMCACHE_CONFIG_FILE), where it
/// is found. Sizes are of one rank; those of all `ranks` become the tiers'. Throws InputError (exit
/// 2) for a value of another type.
void read_lmcache_settings(const EngineCall& call, std::int64_t ranks, Draft& draft);

}  // namespace spillway
