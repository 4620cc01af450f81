// SGLang's arguments as parts of a scenario (python/sglang/srt/server_args.py @ 9fec359a).
#pragma once

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/vllm_arguments.hpp"

namespace spillway {

/// As read_vllm_arguments().
ServedModel read_sglang_arguments(const EngineCall& call, Draft& draft);

}  // namespace spillway
