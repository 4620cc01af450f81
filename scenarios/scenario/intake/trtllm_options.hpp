// TensorRT-LLM's options as a table: those of the file that --extra_llm_api_options names, and the
// flags of trtllm-serve, which are the same by other names or of the server alone.
//
// Sources: NVIDIA/TensorRT-LLM, tensorrt_llm/llmapi/llm_args.py and tensorrt_llm/commands/serve.py,
// releases 1.0 to main of 2026.
#pragma once

#include "scenarios/scenario/intake/vllm_flags.hpp"

namespace spillway {

/// By the name in the file, a dot between its levels; the alias is the flag of trtllm-serve. What
/// the file does not have stands under its flag. FlagValue::kNone: true or false in the file.
/// FlagUse::kNotModelled: the key is the one value that is simulated, if any is.
std::span<const FlagRow> trtllm_options();

/// By any of its names; nullptr for what the table does not know.
const FlagRow* find_trtllm_flag(std::string_view name);

}  // namespace spillway
