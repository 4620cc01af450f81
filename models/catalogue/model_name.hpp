// Which model of the catalogue a name on a command line means, and in which type its weights are.
#pragma once

#include <string>
#include <string_view>

#include "models/catalogue/model_spec.hpp"

namespace spillway {

struct NamedModel {
  enum class Match { kExact, kVariant, kSize, kNone };
  const ModelSpec* spec = nullptr;
  Match match = Match::kNone;  ///< kVariant: a tuned or renamed one; kSize: another of its size
  std::string weight_dtype;    ///< that the name says, of weights.hpp; empty: none
};

/// "neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8" is Llama-3.1-70B in int8; a path counts
/// by its last folder. kNone for what names neither a model nor a size.
NamedModel named_model(std::string_view name);

/// The weight type that --quantization says; empty where it says none.
std::string weight_dtype_of(std::string_view quantization);

}  // namespace spillway
