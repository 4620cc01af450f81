// Shapes of the products and heads of one layer on one rank, as `components` divides them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "models/catalogue/model_spec.hpp"

namespace spillway {

/// Each product as {inputs, outputs}. Precondition of all: the model has heads (no MLA).
struct LayerShapes {
  std::pair<double, double> qkv;
  std::pair<double, double> output;
  std::pair<double, double> up;  ///< gate and up together
  std::pair<double, double> down;
  std::pair<double, double> head;  ///< once a step, over the sampled rows
  double q_heads;
  double kv_heads;
};

inline LayerShapes layer_shapes(const ModelSpec& m, std::uint32_t ranks) {
  const double q_heads = m.q_heads / double(ranks);
  const double kv_heads = std::max(1.0, m.kv_heads / double(ranks));
  const double q = q_heads * m.head_dim;
  const double kv = kv_heads * m.head_dim;
  const double width = m.intermediate / double(ranks);
  const double h = m.hidden;
  return {{h, q + 2 * kv}, {q, h},  {h, 2 * width}, {width, h}, {h, m.vocab / double(ranks)},
          q_heads,         kv_heads};
}

}  // namespace spillway
