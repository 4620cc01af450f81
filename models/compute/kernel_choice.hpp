// Which of a profile's kernels a model's weights and KV cache take.
#pragma once

#include <string_view>

#include "models/compute/compute_profile.hpp"

namespace spillway {

/// Bytes of one weight below which it is FP8 or narrower.
inline constexpr double kFp8WeightBytes = 1.5;

inline bool is_mha(const ModelSpec& model) {
  return !model.is_mla() && model.q_heads == model.kv_heads;
}

/// Of that type; else BF16's, else the first. Null where the profile has none.
const ProductKernels* choose_products(const ComputeProfile& profile, bool fp8);

/// The same of experts; null where the profile has none.
const ExpertKernels* choose_experts(const ComputeProfile& profile, bool fp8);

/// Of the KV type nearest in width, then of the nearest head width (`head_dim` 0: 128). Null where
/// the profile has none.
const AttentionKernels* choose_attention(const ComputeProfile& profile, int kv_bits, int head_dim);

/// Of "bf16" and "fp8"; 16 for any other.
int kv_bits_of(std::string_view kv_dtype);

}  // namespace spillway
