// What to set for Dynamo's KV block manager.
#pragma once

#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// `capacity` is that of host memory.
void add_kvbm_flags(const Scenario& scenario, const Capacity& capacity, EngineFlags& out);

}  // namespace spillway
