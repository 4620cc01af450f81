// The part of an engine's flags that sizes the tier below HBM: swap space of v0, the connector of
// v1 in the form that the release takes.
#pragma once

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

void add_swap_flags(const Scenario& scenario, const Capacity& capacity, EngineFlags& out);
void add_offload_flags(const Scenario& scenario, const Capacity& capacity,
                       const EnginePreset& release, EngineFlags& out);

}  // namespace spillway
