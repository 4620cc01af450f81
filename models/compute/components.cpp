// Step time as the sum of a transformer's parts.
//
//   step = host overhead
//        + layers x (matrix products + element-wise passes + attention)
//        + output head over the sampled rows + sampler
//
// Matrix products follow (compute^p + memory^p)^(1/p); prefill attention runs in waves of 64-query
// tiles over the SMs, each wave linear in the keys it reads, so that a short suffix on a long
// cached prefix costs what it costs; decode attention reads its KV at a share of peak bandwidth. In
// a mixed batch decode attention runs slower than alone. A product's time depends only on the
// number of tokens, so it is computed once per number and kept.
//
// Model: one token of an MLA model costs its low-rank projections; attention over the latent is
// charged by bytes only. Mixture of experts reads each expert that some token picked, with tokens
// spread evenly. Neither is fitted to measurements yet.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "models/compute/step_cost.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kTileQueries = 64;

/// A weight matrix: `count` products of tokens x inputs by inputs x outputs in each layer.
struct Product {
  double inputs;
  double outputs;
  double count;
};

std::vector<Product> attention_products(const ModelSpec& m) {
  const double h = m.hidden;
  if (m.is_mla()) {
    // Head widths of the published MLA models: 128 without position, 128 for values.
    constexpr double kNope = 128;
    constexpr double kValue = 128;
    const double heads = m.q_heads;
    return {{h, double(m.q_lora_rank), 1},
            {double(m.q_lora_rank), heads * (kNope + m.qk_rope_dim), 1},
            {h, double(m.kv_lora_rank + m.qk_rope_dim), 1},
            {double(m.kv_lora_rank), heads * (kNope + kValue), 1},
            {heads * kValue, h, 1}};
  }
  const double q = double(m.q_heads) * m.head_dim;
  const double kv = double(m.kv_heads) * m.head_dim;
  return {{h, q + 2 * kv, 1}, {q, h, 1}};
}

class Components final : public StepCost {
 public:
  explicit Components(const ComponentsCost& p)
      : p_(p),
        flops_(p.gpu->bf16_tflops * 1e12),
        bandwidth_(p.gpu->memory_gbs * 1e9),
        bytes_per_weight_(double(p.model->weight_bytes) / double(p.model->params_total)),
        attention_(attention_products(*p.model)) {
    if (bytes_per_weight_ < 1.5 && p.gpu->fp8_tflops > 0) flops_ = p.gpu->fp8_tflops * 1e12;
    const ModelSpec& m = *p.model;
    kv_bytes_per_token_layer_ = double(m.kv_elements_per_token_layer) * p.kv_bits / 8;
    gqa_ratio_ = m.is_mla() ? 1 : double(m.q_heads) / m.kv_heads;
  }

  Duration step_time(const StepShape& shape) override {
    std::uint64_t tokens = shape.decodes;
    for (const PrefillChunk& chunk : shape.prefills) tokens += chunk.tokens;
    KV_ASSERT(tokens > 0, "a step of no tokens");
    const double seconds = p_.host_overhead_us * 1e-6 + dense_seconds(tokens) +
                           p_.model->kv_layers * attention_seconds(shape) +
                           head_seconds(shape.sampled);
    return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
  }

 private:
  /// All matrix products and element-wise passes of a batch of `tokens`.
  double dense_seconds(std::uint64_t tokens) {
    if (tokens >= dense_.size()) dense_.resize(tokens + 1, 0);
    double& known = dense_[tokens];
    if (known > 0) return known;
    const ModelSpec& m = *p_.model;
    const auto t = static_cast<double>(tokens);
    double attention = 0;
    for (const Product& product : attention_) attention += product_seconds(t, product);
    const double elementwise = p_.kernels.elementwise_passes * t * m.hidden * 2 / bandwidth_;
    const int dense_layers = m.is_moe() ? m.first_dense_layers : m.layers;
    double feed_forward = dense_layers * mlp_seconds(t, m.intermediate);
    if (m.is_moe()) feed_forward += (m.layers - dense_layers) * experts_seconds(t);
    known = m.layers * (attention + elementwise) + feed_forward;
    return known;
  }

  double mlp_seconds(double tokens, double intermediate) const {
    const double h = p_.model->hidden;
    return product_seconds(tokens, {h, 2 * intermediate, 1}) +
           product_seconds(tokens, {intermediate, h, 1});
  }

  double experts_seconds(double tokens) const {
    const ModelSpec& m = *p_.model;
    const double share = double(m.experts_per_token) / m.experts;
    // Expected number of experts that at least one token picks.
    const double touched =
        m.experts * (1 - det::exp2(tokens * det::log2(1 - std::min(share, 0.999999))));
    const double rows = tokens * m.experts_per_token / touched;
    double seconds = grouped_seconds(rows, touched, m.hidden, 2.0 * m.expert_intermediate) +
                     grouped_seconds(rows, touched, m.expert_intermediate, m.hidden);
    if (m.shared_experts > 0) {
      seconds += mlp_seconds(tokens, double(m.shared_experts) * m.expert_intermediate);
    }
    return seconds;
  }

  double product_seconds(double tokens, const Product& product) const {
    return grouped_seconds(tokens, product.count, product.inputs, product.outputs);
  }

  /// One kernel that multiplies `groups` weight matrices by `rows` rows each.
  double grouped_seconds(double rows, double groups, double inputs, double outputs) const {
    const KernelCoefficients& k = p_.kernels;
    const double compute = 2 * rows * groups * inputs * outputs / (k.flop_efficiency * flops_);
    const double bytes =
        groups * (inputs * outputs * bytes_per_weight_ + rows * (inputs + outputs) * 2);
    const double memory = bytes / (k.byte_efficiency * bandwidth_);
    return k.gemm_overhead_us * 1e-6 + det::norm(compute, memory, k.gemm_norm);
  }

  /// Attention of one layer.
  double attention_seconds(const StepShape& shape) const {
    const KernelCoefficients& k = p_.kernels;
    double prefill = 0;
    for (const PrefillChunk& chunk : shape.prefills) {
      const std::int64_t tiles = p_.model->q_heads * ceil_div(chunk.tokens, kTileQueries);
      const auto waves = static_cast<double>(ceil_div(tiles, p_.gpu->sm_count));
      const double keys = chunk.cached + chunk.tokens / 2.0 + k.prefill_lead_keys;
      prefill += waves * keys * k.prefill_key_ns * 1e-9;
    }
    if (!shape.prefills.empty()) prefill += k.prefill_us * 1e-6;
    if (shape.decodes == 0) return prefill;
    const double bytes = static_cast<double>(shape.decode_context) * kv_bytes_per_token_layer_;
    const double read = bytes / (k.decode_efficiency * bandwidth_);
    const double fixed = k.decode_us * 1e-6;
    double decode =
        std::sqrt(fixed * fixed + read * read) + shape.decodes * k.decode_sequence_us * 1e-6;
    if (!shape.prefills.empty()) decode *= std::max(1.0, k.mixed_factor * gqa_ratio_);
    return prefill + decode;
  }

  double head_seconds(std::uint32_t sampled) {
    if (sampled == 0) return 0;
    if (sampled >= head_.size()) head_.resize(sampled + 1, 0);
    double& known = head_[sampled];
    if (known > 0) return known;
    known = product_seconds(sampled, {double(p_.model->hidden), double(p_.model->vocab), 1}) +
            sampled * p_.sequence_us * 1e-6;
    return known;
  }

  ComponentsCost p_;
  double flops_;
  double bandwidth_;
  double bytes_per_weight_;
  std::vector<Product> attention_;
  double kv_bytes_per_token_layer_ = 0;
  double gqa_ratio_ = 1;
  std::vector<double> dense_;  ///< by number of tokens; 0: not computed yet
  std::vector<double> head_;   ///< by number of sampled rows; 0: not computed yet
};

}  // namespace

std::unique_ptr<StepCost> make_components_cost(const ComponentsCost& parameters) {
  KV_ASSERT(parameters.model != nullptr && parameters.gpu != nullptr, "components of nothing");
  return std::make_unique<Components>(parameters);
}

}  // namespace spillway
