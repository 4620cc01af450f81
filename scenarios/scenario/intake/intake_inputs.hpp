// All that people handed in, and the one engine that it is about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/intake.hpp"

namespace spillway {

struct IntakeInputs {
  std::vector<EngineCall> calls;
  std::vector<EngineCall> stores{};    ///< processes of Mooncake Store
  std::vector<std::string> notes;      ///< what of them was left aside
  std::optional<JsonSource> config{};  ///< a model's config.json
};

/// Throws InputError (exit 2) for a text that cannot be read, and for a second config.json.
IntakeInputs read_inputs(const std::vector<IntakeText>& texts, const IntakeOptions& options);

/// The start that the scenario is of. A log and settings beside it add what it does not say. Tells
/// in `draft` what else there was. Throws InputError (exit 2) where they are of several engines.
EngineCall choose_call(IntakeInputs& inputs, const std::vector<IntakeText>& texts,
                       const IntakeOptions& options, Draft& draft);

}  // namespace spillway
