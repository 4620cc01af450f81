#include "models/catalogue/weights.hpp"

#include <algorithm>

#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr double kBf16Bytes = 2;

// Groups of 128 integers with a 16-bit scale and a 4-bit zero: AWQ's and GPTQ's usual.
constexpr double kInt4 = (4 + (16 + 4) / 128.0) / 8;
// 16 weights share an 8-bit scale (NVFP4), 32 do (MXFP4: OCP Microscaling Formats 1.0).
constexpr double kNvfp4 = (4 + 8 / 16.0) / 8;
constexpr double kMxfp4 = (4 + 8 / 32.0) / 8;
// FP8 has a scale for a tensor, a row, or 128 x 128 weights; int8 one for a row: below 0.1%.
constexpr WeightType kWeightTypes[] = {
    {"bf16", {kBf16Bytes, Multiplied::kBf16, true}},
    {"fp8", {1, Multiplied::kFp8, true}},
    {"int8", {1, Multiplied::kWidened, true}},
    // Model: products of 8-bit integers run at the rate of BF16; their own is in no data sheet
    // here.
    {"w8a8", {1, Multiplied::kBf16, true}},
    {"int4", {kInt4, Multiplied::kWidened, true}},
    {"fp4", {kNvfp4, Multiplied::kFp4, true}},
    // As gpt-oss has it: experts alone.
    {"mxfp4", {kMxfp4, Multiplied::kFp4, false}},
};

}  // namespace

std::span<const WeightType> weight_types() {
  return kWeightTypes;
}

const WeightType& find_weight_type(std::string_view name, const SourceRef& where) {
  return find_row(weight_types(), "weight type", name, where);
}

double grouped_bytes(int bits, std::int64_t group, bool symmetric) {
  const double shared = group > 0 ? (16.0 + (symmetric ? 0 : bits)) / double(group) : 0;
  return (bits + shared) / 8;
}

WeightFormat published_format(const ModelSpec& model) {
  return find_weight_type(model.weight_type, {}).format;
}

double attention_weights(const ModelSpec& m) {
  const double h = m.hidden;
  if (!m.is_mla()) return m.layers * h * m.head_dim * (2.0 * m.q_heads + 2.0 * m.kv_heads);
  const double queries = m.q_heads * (double(m.qk_nope_dim) + m.qk_rope_dim);
  const double widened = m.q_heads * (double(m.qk_nope_dim) + m.v_head_dim);
  return m.layers * ((m.q_lora_rank > 0 ? m.q_lora_rank * (h + queries) : h * queries) +
                     h * (m.kv_lora_rank + m.qk_rope_dim) + m.kv_lora_rank * widened +
                     double(m.q_heads) * m.v_head_dim * h);
}

double matrix_weights(const ModelSpec& m) {
  const double h = m.hidden;
  constexpr double kMatrices = 3;  // gate, up and down
  const double dense_layers = m.is_moe() ? m.first_dense_layers : m.layers;
  const double experts = double(m.experts) + m.shared_experts;
  return attention_weights(m) + dense_layers * kMatrices * h * m.intermediate +
         (m.layers - dense_layers) * kMatrices * h * experts * m.expert_intermediate;
}

double expert_weights(const ModelSpec& m) {
  constexpr double kMatrices = 3;  // gate, up and down
  if (!m.is_moe()) return 0;
  return (double(m.layers) - m.first_dense_layers) * kMatrices * m.hidden * m.experts *
         m.expert_intermediate;
}

Bytes weight_bytes_as(const ModelSpec& model, const WeightFormat& format) {
  const auto all = static_cast<double>(model.params_total);
  const double matrices = std::min(all, matrix_weights(model));
  const double narrow = format.attention ? matrices : matrices - attention_weights(model);
  return Bytes(static_cast<std::int64_t>(narrow * format.bytes + (all - narrow) * kBf16Bytes));
}

}  // namespace spillway
