// The flags of SGLang (python/sglang/srt/server_args.py @ 9fec359a) for a scenario of it.
#pragma once

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// As flags_of(), which calls it.
EngineFlags sglang_flags(const Scenario& scenario, const Capacity& capacity,
                         const EnginePreset& release);

}  // namespace spillway
