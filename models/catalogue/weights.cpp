#include "models/catalogue/weights.hpp"

#include <algorithm>

namespace spillway {

namespace {

constexpr double kBf16Bytes = 2;

}  // namespace

double matrix_weights(const ModelSpec& m) {
  const double h = m.hidden;
  double attention = 0;
  if (m.is_mla()) {
    // Head widths of the published MLA models: 128 without position, 128 for values.
    constexpr double kNope = 128;
    constexpr double kValue = 128;
    const double queries = m.q_heads * (kNope + m.qk_rope_dim);
    attention = (m.q_lora_rank > 0 ? m.q_lora_rank * (h + queries) : h * queries) +
                h * (m.kv_lora_rank + m.qk_rope_dim) +
                m.kv_lora_rank * m.q_heads * (kNope + kValue) + m.q_heads * kValue * h;
  } else {
    attention = h * m.head_dim * (2.0 * m.q_heads + 2.0 * m.kv_heads);
  }
  constexpr double kMatrices = 3;  // gate, up and down
  const double dense_layers = m.is_moe() ? m.first_dense_layers : m.layers;
  const double experts = double(m.experts) + m.shared_experts;
  return m.layers * attention + dense_layers * kMatrices * h * m.intermediate +
         (m.layers - dense_layers) * kMatrices * h * experts * m.expert_intermediate;
}

double expert_weights(const ModelSpec& m) {
  constexpr double kMatrices = 3;  // gate, up and down
  if (!m.is_moe()) return 0;
  return (double(m.layers) - m.first_dense_layers) * kMatrices * m.hidden * m.experts *
         m.expert_intermediate;
}

double published_weight_bytes(const ModelSpec& model) {
  return double(model.weight_bytes) / double(model.params_total);
}

std::string_view published_weight_type(const ModelSpec& model) {
  constexpr double kLeastBf16 = 1.5;
  constexpr double kLeastFp8 = 0.9;
  const double bytes = published_weight_bytes(model);
  return bytes >= kLeastBf16 ? "bf16" : bytes >= kLeastFp8 ? "fp8" : "fp4";
}

Bytes weight_bytes_as(const ModelSpec& model, double bytes) {
  const auto all = static_cast<double>(model.params_total);
  const double matrices = std::min(all, matrix_weights(model));
  return Bytes(static_cast<std::int64_t>(matrices * bytes + (all - matrices) * kBf16Bytes));
}

}  // namespace spillway
