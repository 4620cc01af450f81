// Bytes of a model's weights in another type than the published one.
#pragma once

#include <string_view>

#include "models/catalogue/model_spec.hpp"
#include "sim/units.hpp"

namespace spillway {

/// Bytes of one weight, on average.
double published_weight_bytes(const ModelSpec& model);
/// "bf16", "fp8", or "fp4" for what is narrower.
std::string_view published_weight_type(const ModelSpec& model);

/// Weights in the matrices of all layers: attention, feed-forward, experts.
double matrix_weights(const ModelSpec& model);

/// The routed experts' part of these.
double expert_weights(const ModelSpec& model);

/// Of the whole model with `bytes` for each weight of its layers' matrices. Embeddings, output head
/// and norms stay BF16, as vLLM's fp8 quantisation leaves them
/// (vllm/model_executor/layers/quantization/fp8.py: linear layers and experts only).
Bytes weight_bytes_as(const ModelSpec& model, double bytes);

}  // namespace spillway
