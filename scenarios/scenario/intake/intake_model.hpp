// The model of a scenario that is made from an engine's configuration.
#pragma once

#include <optional>

#include "models/catalogue/model_spec.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/intake.hpp"
#include "scenarios/scenario/intake/vllm_arguments.hpp"

namespace spillway {

struct IntakeModel {
  std::optional<ModelSpec> shape{};  ///< a row of the catalogue or of a config.json
  bool assumed = false;              ///< the shape is another model's
};

/// Puts it into `draft`. `config`: a model's config.json. Throws InputError (exit 2) for a name of
/// --model that is not known.
IntakeModel choose_model(const ServedModel& served, const IntakeOptions& options,
                         const std::optional<JsonSource>& config, Draft& draft);

}  // namespace spillway
