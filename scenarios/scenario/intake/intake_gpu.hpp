// The GPU of a scenario that is made from an engine's configuration, last of all: whether the rest
// fits it decides.
#pragma once

#include <string>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/intake.hpp"
#include "scenarios/scenario/intake/vllm_arguments.hpp"

namespace spillway {

/// Puts it into `draft`, with more ranks where no number of them was given; its name. `source` is
/// what errors name. Throws InputError (exit 2) where the scenario runs on none.
std::string choose_gpu(const EngineCall& call, const ServedModel& served,
                       const IntakeOptions& options, const std::string& source, Draft& draft);

}  // namespace spillway
