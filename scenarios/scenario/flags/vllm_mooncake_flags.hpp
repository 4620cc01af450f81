// What to set for vLLM with Mooncake Store as its connector.
#pragma once

#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// `capacity` is that of the store's memory.
void add_vllm_mooncake_flags(const Scenario& scenario, const Capacity& capacity, EngineFlags& out);

}  // namespace spillway
