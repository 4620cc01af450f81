// What to set for AIBrix's KV cache.
#pragma once

#include <cstdint>

#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// `bytes` of host memory, over all ranks of one engine.
void add_aibrix_flags(const Scenario& scenario, std::int64_t bytes, EngineFlags& out);

}  // namespace spillway
