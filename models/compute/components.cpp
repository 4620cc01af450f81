// Step time as the sum of a transformer's parts.
//
//   step = host overhead
//        + layers x (matrix products + element-wise passes + attention)
//        + output head over the sampled rows + sampler
//
// Matrix products and attention follow the forms of kernel_forms.hpp, by the ratios of a compute
// profile where there is one. A product's time depends only on the number of tokens, so it is
// computed once per number and kept.
//
// Batches up to the largest that vLLM captured as a CUDA graph are padded to the next captured size
// and replayed; others are launched kernel by kernel, for eager_overhead_us more.
//
// Model: one token of an MLA model costs its low-rank projections; attention over the latent is
// charged by bytes only. Mixture of experts reads each expert that some token picked, with tokens
// spread evenly. Neither is fitted to measurements yet; a profile's curves are used at the rows of
// one expert.
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

#include "models/catalogue/weights.hpp"
#include "models/compute/attention_time.hpp"
#include "models/compute/graph_sizes.hpp"
#include "models/compute/kernel_choice.hpp"
#include "models/compute/product_time.hpp"
#include "models/compute/small_reduce.hpp"
#include "models/compute/step_cost.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr double kBf16Bytes = 2;

using Matrix = ProductTime::Matrix;

/// Into the feed-forward layer (gate and up together) and out of it.
struct FeedForward {
  Matrix in;
  Matrix out;
};

/// On one of `ranks` ranks.
std::vector<Matrix> attention_matrices(const ModelSpec& m, double ranks, const ProductTime& of) {
  const double h = m.hidden;
  if (m.is_mla()) {
    // Head widths of the published MLA models: 128 without position, 128 for values.
    constexpr double kNope = 128;
    constexpr double kValue = 128;
    const double heads = m.q_heads / ranks;
    if (m.q_lora_rank == 0) {  // queries without a latent (DeepSeek-V2-Lite)
      return {of.matrix(h, heads * (kNope + m.qk_rope_dim)),
              of.matrix(h, m.kv_lora_rank + m.qk_rope_dim),
              of.matrix(m.kv_lora_rank, heads * (kNope + kValue)), of.matrix(heads * kValue, h)};
    }
    return {of.matrix(h, m.q_lora_rank), of.matrix(m.q_lora_rank, heads * (kNope + m.qk_rope_dim)),
            of.matrix(h, m.kv_lora_rank + m.qk_rope_dim),
            of.matrix(m.kv_lora_rank, heads * (kNope + kValue)), of.matrix(heads * kValue, h)};
  }
  const double q = m.q_heads / ranks * m.head_dim;
  const double kv = std::max(1.0, m.kv_heads / ranks) * m.head_dim;
  return {of.matrix(h, q + 2 * kv), of.matrix(q, h)};
}

FeedForward feed_forward(double hidden, double width, const ProductTime& of) {
  return {of.matrix(hidden, 2 * width), of.matrix(width, hidden)};
}

/// The output head stays BF16 where the layers' weights were narrowed.
double head_weight_bytes(const ComponentsCost& p) {
  const bool known = p.profile != nullptr || p.weight_bytes > 0;
  return known ? kBf16Bytes : published_weight_bytes(*p.model);
}

class Components final : public StepCost {
 public:
  explicit Components(const ComponentsCost& p)
      : p_(p),
        ranks_(p.shards.tensor),
        stages_(p.shards.stages),
        products_(p, p.weight_bytes > 0 ? p.weight_bytes : published_weight_bytes(*p.model)),
        head_products_(p, head_weight_bytes(p)),
        attention_time_(p),
        attention_(attention_matrices(*p.model, ranks_, products_)),
        dense_width_(feed_forward(p.model->hidden, p.model->intermediate / ranks_, products_)),
        expert_width_(expert_layer(p.model->is_moe() ? 1 : 0)),
        shared_width_(expert_layer(p.model->shared_experts)),
        head_matrix_(head_products_.matrix(p.model->hidden, p.model->vocab / ranks_)) {
    KV_ASSERT(p.shards.tensor == 1 || p.reduce, "ranks without an all-reduce");
    const ModelSpec& m = *p.model;
    const auto layers = [&](std::int64_t of) {
      return stages_ * double(stage_layers(of, p.shards));
    };
    layers_ = layers(m.layers);
    kv_layers_ = layers(m.kv_layers);
    graphs_matter_ = p.profile != nullptr || p.eager_overhead_us > 0;
    if (p.profile == nullptr) return;
    p_.kernels.elementwise_passes = p.profile->elementwise_passes;
    elementwise_ratio_ = RatioTable(p.profile->elementwise);
    scales_ = p.profile->scales;
    sampler_us_ = p.profile->sampler_us;
  }

  Duration step_time(const StepShape& shape) override {
    std::uint64_t tokens = shape.decodes;
    for (const PrefillChunk& chunk : shape.prefills) tokens += chunk.tokens;
    KV_ASSERT(tokens > 0, "a step of no tokens");
    double host_us = p_.host_overhead_us;
    if (graphs_matter_) {
      if (tokens > p_.graph_tokens) host_us += p_.eager_overhead_us;
      tokens = graph_padded(tokens, p_.graph_tokens);
    }
    double seconds = stages_ * host_us * 1e-6 + dense_seconds(tokens) +
                     kv_layers_ * attention_time_.seconds(shape) + head_seconds(shape.sampled);
    // Less than nothing: kernels were measured eager, and the engine's compiled ones save more than
    // its host costs. That was fitted on larger steps than some; half of the kernels' time stays.
    if (host_us < 0) seconds = std::max(seconds, (seconds - stages_ * host_us * 1e-6) / 2);
    return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
  }

  Duration collective_time(std::uint64_t tokens) override {
    if (graphs_matter_) tokens = graph_padded(tokens, p_.graph_tokens);
    return Duration(static_cast<std::int64_t>(std::ceil(reduce_seconds(tokens) * 1e9)));
  }

 private:
  /// All all-reduces of a batch of `tokens`.
  double reduce_seconds(std::uint64_t tokens) const {
    if (!p_.reduce) return 0;
    const double bytes = static_cast<double>(tokens) * p_.model->hidden * 2;
    return layers_ * kReducesPerLayer * p_.reduce->seconds(bytes) * scales_.collectives;
  }

  /// All matrix products and element-wise passes of a batch of `tokens`.
  double dense_seconds(std::uint64_t tokens) {
    if (tokens >= dense_.size()) dense_.resize(tokens + 1, 0);
    double& known = dense_[tokens];
    if (known > 0) return known;
    const ModelSpec& m = *p_.model;
    const auto t = static_cast<double>(tokens);
    double attention = 0;
    for (const Matrix& matrix : attention_) attention += products_.seconds(matrix, t);
    const double elementwise =
        elementwise_seconds(p_.kernels.elementwise_passes, t, m.hidden, p_.gpu->memory_gbs * 1e9) *
        elementwise_ratio_.at({t}) * scales_.memory;
    const double dense_layers = m.is_moe() ? m.first_dense_layers : layers_;
    double feed_forward = dense_layers * mlp_seconds(dense_width_, t);
    if (m.is_moe()) feed_forward += (layers_ - dense_layers) * experts_seconds(t);
    known = layers_ * (attention + elementwise) + feed_forward + reduce_seconds(tokens);
    return known;
  }

  FeedForward expert_layer(int experts) const {
    const double width = p_.model->expert_intermediate / ranks_;
    if (experts == 0) return {};
    return feed_forward(p_.model->hidden, experts * width, products_);
  }

  double mlp_seconds(const FeedForward& layer, double rows, double groups = 1) const {
    return products_.seconds(layer.in, rows, groups) + products_.seconds(layer.out, rows, groups);
  }

  double experts_seconds(double tokens) const {
    const ModelSpec& m = *p_.model;
    const double share = double(m.experts_per_token) / m.experts;
    // Expected number of experts that at least one token picks.
    const double touched =
        m.experts * (1 - det::exp2(tokens * det::log2(1 - std::min(share, 0.999999))));
    const double rows = tokens * m.experts_per_token / touched;
    double seconds = mlp_seconds(expert_width_, rows, touched);
    if (m.shared_experts > 0) seconds += mlp_seconds(shared_width_, tokens);
    return seconds;
  }

  double head_seconds(std::uint32_t sampled) {
    if (sampled == 0) return 0;
    if (sampled >= head_.size()) head_.resize(sampled + 1, 0);
    double& known = head_[sampled];
    if (known > 0) return known;
    known = head_products_.seconds(head_matrix_, sampled) + sampled * p_.sequence_us * 1e-6;
    if (sampler_us_ > 0) known += sampler_us_ * 1e-6;
    return known;
  }

  ComponentsCost p_;
  double ranks_;
  double stages_;
  ProductTime products_;
  ProductTime head_products_;
  AttentionTime attention_time_;
  std::vector<Matrix> attention_;
  FeedForward dense_width_;
  FeedForward expert_width_;  ///< of one expert
  FeedForward shared_width_;  ///< of the shared ones together
  Matrix head_matrix_;
  RatioTable elementwise_ratio_;
  KernelScales scales_;
  double sampler_us_ = 0;
  double layers_ = 0;  ///< over all stages, each as many as the fullest
  double kv_layers_ = 0;
  bool graphs_matter_ = false;
  std::vector<double> dense_;  ///< by number of tokens; 0: not computed yet
  std::vector<double> head_;   ///< by number of sampled rows; 0: not computed yet
};

}  // namespace

std::unique_ptr<StepCost> make_components_cost(const ComponentsCost& parameters) {
  KV_ASSERT(parameters.model != nullptr && parameters.gpu != nullptr, "components of nothing");
  return std::make_unique<Components>(parameters);
}

}  // namespace spillway
