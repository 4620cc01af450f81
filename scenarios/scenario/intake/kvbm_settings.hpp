// Dynamo's KV block manager (KVBM) as a part of a scenario: its environment variables DYN_KVBM_*.
#pragma once

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"

namespace spillway {

/// Sizes are of one instance, all of its ranks together. Throws InputError (exit 2) for a variable
/// that is no number.
void read_kvbm_settings(const EngineCall& call, Draft& draft);

}  // namespace spillway
