// In which types a model's weights are kept, how kernels multiply by them, and what they weigh.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/catalogue/model_spec.hpp"
#include "sim/units.hpp"

namespace spillway {

/// What tensor cores see of a weight: its own type, or BF16 where a kernel widens it on the way.
enum class Multiplied : std::uint8_t { kBf16, kFp8, kFp4, kWidened };

/// How the matrices of layers are kept. Embeddings, output head and norms stay BF16, as vLLM's
/// quantisation leaves them (vllm/model_executor/layers/quantization: linear layers and experts).
struct WeightFormat {
  double bytes = 2;  ///< of one weight, scales included
  Multiplied as = Multiplied::kBf16;
  bool attention = true;  ///< else attention's matrices are BF16
};

struct WeightType {
  std::string_view name;
  WeightFormat format;
};
std::span<const WeightType> weight_types();
/// By name; throws InputError for any other.
const WeightType& find_weight_type(std::string_view name, const SourceRef& where);

/// Of integers of `bits` in groups that share a 16-bit scale and, unless symmetric, a zero of as
/// many bits (AWQ, GPTQ). `group` 0: one scale for a row, which weighs nothing.
double grouped_bytes(int bits, std::int64_t group, bool symmetric);

/// As published.
WeightFormat published_format(const ModelSpec& model);

/// Weights in the matrices of all layers: of attention, and with feed-forward and experts.
double attention_weights(const ModelSpec& model);
double matrix_weights(const ModelSpec& model);

/// The routed experts' part of these.
double expert_weights(const ModelSpec& model);

/// Of the whole model, its layers in that format.
Bytes weight_bytes_as(const ModelSpec& model, const WeightFormat& format);

}  // namespace spillway
