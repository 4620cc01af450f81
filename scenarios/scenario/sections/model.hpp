// The section `model` of a scenario.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/catalogue/weights.hpp"
#include "models/kv_geometry.hpp"

namespace spillway {

/// Weights of another type than the published ones.
struct WeightChoice {
  std::string dtype;  ///< of weights.hpp
  WeightFormat format;
  Bytes total{0};  ///< of all weights
};

/// What a scenario describes itself, with the name that the row points to: never copied.
struct OwnModel {
  std::string name;
  ModelSpec spec{};
};

struct ModelChoice {
  const ModelSpec* spec = nullptr;      ///< null: only kv_bytes_per_token is known
  std::shared_ptr<const OwnModel> own;  ///< what `spec` points to, of a model.config
  KvDtype kv_dtype = KvDtype::kBf16;
  std::optional<WeightChoice> weights;  ///< none: as published
  Bytes kv_bytes_per_token{0};
  std::uint32_t layers = 0;  ///< that have KV; 0: not known
};

}  // namespace spillway
