// Which release of vLLM serves, and what of the arguments that release has.
#pragma once

#include <optional>
#include <string_view>

#include "models/catalogue/model_spec.hpp"
#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/intake.hpp"

namespace spillway {

bool is_v0_preset(std::string_view preset);

/// The preset, where no other manager of KV has set one; then keys that this generation does not
/// have go, and a log's pool comes in. Throws InputError (exit 2) for a release that is none.
void set_vllm_release(const EngineCall& call, const IntakeOptions& options,
                      const std::optional<ModelSpec>& shape, Draft& draft);

}  // namespace spillway
