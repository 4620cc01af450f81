// The settings of TensorRT-LLM (tensorrt_llm/commands/serve.py, llmapi/llm_args.py) for a scenario
// of it.
#pragma once

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

struct Scenario;

/// As flags_of(), which calls it.
EngineFlags trtllm_flags(const Scenario& scenario, const Capacity& capacity,
                         const EnginePreset& release);

}  // namespace spillway
