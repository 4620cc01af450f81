// What the kernels between a layer's products and its attention read and write: norms with the
// residual, rotary embedding, the write of new KV, activation.
//
// Counted from vLLM's kernels (csrc/layernorm_kernels.cu, pos_encoding_kernels.cu,
// cache_kernels.cu, activation_kernels.cu): a norm reads and writes hidden state and residual;
// rotary embedding and norms of queries and keys work in place; new keys and values are read and
// written once; the activation reads gate and up, and writes their product.
#pragma once

#include <algorithm>

#include "models/catalogue/model_spec.hpp"

namespace spillway {

/// Of one layer on one rank.
struct LayerPasses {
  double values = 0;   ///< read or written for a token
  double kernels = 0;  ///< launched for a batch
};

/// `width`: of the activation, summed over what a token passes through; 0: it has none of its own.
inline LayerPasses layer_passes(const ModelSpec& m, double ranks, double width) {
  const double heads = m.q_heads / ranks;
  double queries = heads * m.head_dim;
  double keys = std::max(1.0, m.kv_heads / ranks) * m.head_dim;
  double written = 2 * keys;
  if (m.is_mla()) {
    queries = heads * m.qk_rope_dim;
    keys = m.qk_rope_dim;
    written = m.kv_lora_rank + m.qk_rope_dim;
  }
  LayerPasses out;
  out.values = m.norms * 4.0 * m.hidden + 2 * (queries + keys) + 2 * written;
  out.kernels = m.norms + 2.0;
  if (m.is_mla()) {  // norms of both latents
    out.values += 2.0 * (m.kv_lora_rank + m.q_lora_rank);
    out.kernels += 2;
  }
  if (m.qk_norm) {
    out.values += 2 * (queries + keys);
    out.kernels += 1;
  }
  if (width > 0) {
    out.values += 3 * width;
    out.kernels += 1;
  }
  return out;
}

/// Of a model's dense layers.
inline LayerPasses dense_passes(const ModelSpec& m, double ranks) {
  return layer_passes(m, ranks, m.intermediate / ranks);
}

/// What a whole-layer table has rows of: experts have their activation within.
inline LayerPasses table_passes(const ModelSpec& m, double ranks) {
  return layer_passes(m, ranks, m.is_moe() ? 0 : m.intermediate / ranks);
}

}  // namespace spillway
