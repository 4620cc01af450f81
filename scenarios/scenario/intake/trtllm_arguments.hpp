// TensorRT-LLM's arguments and the file of options that they name, as parts of a scenario
// (tensorrt_llm/commands/serve.py, tensorrt_llm/llmapi/llm_args.py, 2026).
#pragma once

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/vllm_arguments.hpp"

namespace spillway {

/// As read_vllm_arguments(); the file is looked for in the input, then on disk, as named and beside
/// the input.
ServedModel read_trtllm_arguments(const EngineCall& call, Draft& draft);

}  // namespace spillway
