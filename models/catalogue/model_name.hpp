// Which model of the catalogue a name on a command line means, and in which type its weights are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue/model_spec.hpp"

namespace spillway {

struct NamedModel {
  enum class Match { kExact, kVariant, kSize, kNone };
  const ModelSpec* spec = nullptr;
  Match match = Match::kNone;  ///< kVariant: a tuned or renamed one; kSize: another of its size
  std::string weight_dtype;    ///< that the name says, of weights.hpp; empty: none
};

/// A name without some of the marks behind it, and the weight type that these say; empty: none.
struct NameStem {
  std::string name;
  std::string weight_dtype;
};
/// "org/Foo-Instruct-AWQ" as Foo-Instruct-AWQ, Foo-Instruct (int4) and Foo (int4). A path counts by
/// its last folder.
std::vector<NameStem> name_stems(std::string_view name);

/// "neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8" is Llama-3.1-70B in int8; a path counts
/// by its last folder. kNone for what names neither a model nor a size.
NamedModel named_model(std::string_view name);

/// The weight type that --quantization says; empty where it says none.
std::string weight_dtype_of(std::string_view quantization);

}  // namespace spillway
