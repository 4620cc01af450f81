// What to set for FlexKV.
#pragma once

#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// `capacity` is that of host memory.
void add_flexkv_flags(const Scenario& scenario, const Capacity& capacity, EngineFlags& out);

}  // namespace spillway
