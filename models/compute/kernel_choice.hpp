// Which of a profile's kernels a model's weights and KV cache take.
#pragma once

#include <string_view>

#include "models/compute/compute_profile.hpp"

namespace spillway {

/// How products by weights of a format run on a GPU.
struct ProductUnits {
  bool fp8 = false;       ///< at the FP8 rate, else at that of BF16
  double flop_share = 1;  ///< of what kernels of that rate reach
};
/// `experts`: of many small matrices in one kernel.
ProductUnits product_units(const GpuSpec& gpu, const WeightFormat& format, bool experts);
/// Of the layers of a model.
inline WeightFormat weight_format(const ComponentsCost& p) {
  return p.weights ? *p.weights : published_format(*p.model);
}

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
