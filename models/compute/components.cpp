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
//
// Ranks of tensor parallelism divide heads, the feed-forward width (of every expert, too) and the
// vocabulary; what they do not divide (norms, an MLA model's way into its latents) each computes
// whole. Two all-reduces a layer sum hidden states of 2 bytes. Stages of pipeline parallelism
// divide the layers; the step is that of all stages, one after another, each as long as the one
// with most layers.
// Model: each stage costs the whole host overhead; the all-gather of the logits costs nothing.
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
constexpr double kReducesPerLayer = 2;  // behind attention, and behind the feed-forward layer

/// A weight matrix: `count` products of tokens x inputs by inputs x outputs in each layer.
struct Product {
  double inputs;
  double outputs;
  double count;
};

/// On one of `ranks` ranks.
std::vector<Product> attention_products(const ModelSpec& m, double ranks) {
  const double h = m.hidden;
  if (m.is_mla()) {
    // Head widths of the published MLA models: 128 without position, 128 for values.
    constexpr double kNope = 128;
    constexpr double kValue = 128;
    const double heads = m.q_heads / ranks;
    return {{h, double(m.q_lora_rank), 1},
            {double(m.q_lora_rank), heads * (kNope + m.qk_rope_dim), 1},
            {h, double(m.kv_lora_rank + m.qk_rope_dim), 1},
            {double(m.kv_lora_rank), heads * (kNope + kValue), 1},
            {heads * kValue, h, 1}};
  }
  const double q = m.q_heads / ranks * m.head_dim;
  const double kv = std::max(1.0, m.kv_heads / ranks) * m.head_dim;
  return {{h, q + 2 * kv, 1}, {q, h, 1}};
}

class Components final : public StepCost {
 public:
  explicit Components(const ComponentsCost& p)
      : p_(p),
        flops_(p.gpu->bf16_tflops * 1e12),
        bandwidth_(p.gpu->memory_gbs * 1e9),
        bytes_per_weight_(double(p.model->weight_bytes) / double(p.model->params_total)),
        ranks_(p.shards.tensor),
        stages_(p.shards.stages),
        attention_(attention_products(*p.model, ranks_)) {
    KV_ASSERT(p.shards.tensor == 1 || p.reduce, "ranks without an all-reduce");
    if (bytes_per_weight_ < 1.5 && p.gpu->fp8_tflops > 0) flops_ = p.gpu->fp8_tflops * 1e12;
    const ModelSpec& m = *p.model;
    kv_bytes_per_token_layer_ = double(rank_kv_elements(m, p.shards)) * p.kv_bits / 8;
    gqa_ratio_ = m.is_mla() ? 1 : m.q_heads / ranks_ / std::max(1.0, m.kv_heads / ranks_);
    q_heads_ = ceil_div(m.q_heads, p.shards.tensor);
    const auto layers = [&](std::int64_t of) {
      return stages_ * double(stage_layers(of, p.shards));
    };
    layers_ = layers(m.layers);
    kv_layers_ = layers(m.kv_layers);
  }

  Duration step_time(const StepShape& shape) override {
    std::uint64_t tokens = shape.decodes;
    for (const PrefillChunk& chunk : shape.prefills) tokens += chunk.tokens;
    KV_ASSERT(tokens > 0, "a step of no tokens");
    const double seconds = stages_ * p_.host_overhead_us * 1e-6 + dense_seconds(tokens) +
                           kv_layers_ * attention_seconds(shape) + head_seconds(shape.sampled);
    return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
  }

  Duration collective_time(std::uint64_t tokens) override {
    return Duration(static_cast<std::int64_t>(std::ceil(reduce_seconds(tokens) * 1e9)));
  }

 private:
  /// All all-reduces of a batch of `tokens`.
  double reduce_seconds(std::uint64_t tokens) const {
    if (!p_.reduce) return 0;
    const double bytes = static_cast<double>(tokens) * p_.model->hidden * 2;
    return layers_ * kReducesPerLayer * p_.reduce->seconds(bytes);
  }

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
    const double dense_layers = m.is_moe() ? m.first_dense_layers : layers_;
    double feed_forward = dense_layers * mlp_seconds(t, m.intermediate / ranks_);
    if (m.is_moe()) feed_forward += (layers_ - dense_layers) * experts_seconds(t);
    known = layers_ * (attention + elementwise) + feed_forward + reduce_seconds(tokens);
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
    const double width = m.expert_intermediate / ranks_;
    double seconds = grouped_seconds(rows, touched, m.hidden, 2.0 * width) +
                     grouped_seconds(rows, touched, width, m.hidden);
    if (m.shared_experts > 0) seconds += mlp_seconds(tokens, m.shared_experts * width);
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
      const std::int64_t tiles = q_heads_ * ceil_div(chunk.tokens, kTileQueries);
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
    known = product_seconds(sampled, {double(p_.model->hidden), p_.model->vocab / ranks_, 1}) +
            sampled * p_.sequence_us * 1e-6;
    return known;
  }

  ComponentsCost p_;
  double flops_;
  double bandwidth_;
  double bytes_per_weight_;
  double ranks_;
  double stages_;
  std::vector<Product> attention_;
  std::int64_t q_heads_ = 0;  ///< on one rank
  double layers_ = 0;         ///< over all stages, each as many as the fullest
  double kv_layers_ = 0;
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
