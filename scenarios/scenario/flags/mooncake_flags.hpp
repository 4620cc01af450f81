// The settings of Mooncake Store: flags of mooncake_master, variables of the processes that lend
// memory and SSD. For a scenario of its client, and for a store behind SGLang's host memory.
#pragma once

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// As flags_of(), which calls it.
EngineFlags mooncake_flags(const Scenario& scenario, const Capacity& capacity,
                           const EnginePreset& release);

/// The master as a process beside SGLang, and what SGLang's own client is told.
void add_mooncake_behind(const Scenario& scenario, EngineFlags& out);

}  // namespace spillway
