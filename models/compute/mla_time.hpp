// Attention of one layer of an MLA model on one rank.
//
// Decodes stay in the latent space: all heads read one latent per cached token, so that bytes are
// few and multiplications many. Prefill widens latents to keys and values of each head, those of
// the new tokens as a product of the layer, those of cached tokens anew in every chunk.
#pragma once

#include "models/compute/attention_time.hpp"
#include "models/compute/product_time.hpp"

namespace spillway {

/// Head widths that an MLA layer multiplies by: its matrices, those of one rank.
struct MlaWidths {
  double heads;    ///< of queries
  double query;    ///< of one head, with and without position
  double widened;  ///< of one head: key without position, and value
};
MlaWidths mla_widths(const ModelSpec& model, double ranks);

class MlaTime {
 public:
  /// Precondition: the model is MLA. `products` of its attention's matrices.
  MlaTime(const ComponentsCost& p, const ProductTime& products);

  double seconds(const StepShape& shape) const;

 private:
  double decode(const StepShape& shape) const;

  const ProductTime* products_;
  AttentionTime prefill_;
  ProductTime::Matrix widen_;  ///< of latents to keys and values
  DecodeForm form_;
  double token_bytes_;
  double token_flops_;
  double memory_rate_;
  double flop_rate_;
  double scale_ = 1;
};

}  // namespace spillway
