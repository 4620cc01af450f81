// The settings of Mooncake Store for a scenario of its client: flags of mooncake_master, variables
// of the processes that lend memory and SSD.
#pragma once

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// As flags_of(), which calls it.
EngineFlags mooncake_flags(const Scenario& scenario, const Capacity& capacity,
                           const EnginePreset& release);

}  // namespace spillway
