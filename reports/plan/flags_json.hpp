// EngineFlags to JSON and back, as sentences of a plan, and as a fragment for a shell.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/plan/plan_parts.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

nlohmann::json to_json(const EngineFlags& flags);

/// Throws nlohmann::json::exception when a member is missing or of another type.
EngineFlags flags_from_json(const nlohmann::json& flags);

/// "Set in vLLM (vllm@0.25): ..." and what no flag covers; in full with the arithmetic and why.
std::vector<std::string> flag_sentences(const EngineFlags& flags, Detail detail);

/// Runs as it is, with the model's name in $MODEL: whatever is no command is a comment.
std::string shell_fragment(const EngineFlags& flags);

}  // namespace spillway
