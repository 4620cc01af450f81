// What to set in LMCache, in llm-d's FS backend and in MultiConnector.
#pragma once

#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// Of a connector that keeps chunks; `capacity` is the first tier's.
void add_chunk_flags(const Scenario& scenario, const Capacity& capacity, EngineFlags& out);

}  // namespace spillway
