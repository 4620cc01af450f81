// What to say of a name that no model has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue/lookup.hpp"

namespace spillway {

/// By every name and alias of the catalogue, the model's name.
std::vector<Alias> model_labels();

/// "Qwen3-8B-Q4_K_M.gguf", "unsloth/Qwen3-8B-GGUF".
bool names_gguf(std::string_view name);

/// "unknown model "x"; did you mean A or B? ...", where all are listed, and what else may be given
/// (`others`). For a GGUF file's name the way to the model that it was made of.
std::string unknown_model(std::string_view name, std::vector<Alias> known,
                          std::string_view others = "");

}  // namespace spillway
