// EngineFlags as sentences of a plan, and as a fragment for a shell.
#pragma once

#include <string>
#include <vector>

#include "reports/plan/plan_parts.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

/// "Set in vLLM (vllm@0.25): ..." and what no flag covers; in full with the arithmetic and why.
std::vector<std::string> flag_sentences(const EngineFlags& flags, Detail detail);

/// Runs as it is, with the model's name in $MODEL: whatever is no command is a comment.
std::string shell_fragment(const EngineFlags& flags);

}  // namespace spillway
