// LMCache's own settings as a scenario: environment variables (LMCACHE_*), its YAML file, what
// production-stack's chart makes of them (lmcacheConfig).
#pragma once

#include <map>
#include <string>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/shell.hpp"

namespace spillway {

/// `environment` is that of the engine. A file that it names (LMCACHE_CONFIG_FILE) is read where it
/// lies here. Sizes are of one rank; those of all `ranks` become the tiers'.
void read_lmcache_settings(const ShellVariables& environment, std::int64_t ranks, Draft& draft);

}  // namespace spillway
