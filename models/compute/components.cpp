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
// and replayed; others are launched kernel by kernel, for eager_overhead_us more, and take no less
// than the host needs to launch all layers.
//
// Layers of sliding attention read a window (Model: so do chunked ones, as of Llama 4, which read
// half of it on average). An MLA model's attention is mla_time's; its products are those of one
// token, whether their latents are widened (prefill) or their queries taken to the latent (decode).
// Not fitted to measurements yet.
//
// Routed experts are those of expert_time.hpp. Engines of data parallelism that share them step
// together. Before a layer's experts each gathers the hidden states and choices of all others'
// tokens; behind them, sums are reduced and scattered (vllm/distributed/device_communicators/
// all2all.py, AgRsAll2AllManager: the default). So each waits for the slowest twice a layer. With
// captured graphs all are padded to the largest batch, and none replays one where one cannot
// (vllm/v1/worker/dp_utils.py, coordinate_batch_across_dp).
//
// Ranks of tensor parallelism divide heads, the feed-forward width and the
// vocabulary; what they do not divide (norms, an MLA model's way into its latents) each computes
// whole. Two all-reduces a layer and one behind the embedding sum hidden states of 2 bytes; an
// all-gather collects the logits of the sampled rows. Stages of pipeline parallelism
// divide the layers; the step is that of all stages, one after another, each as long as the one
// with most layers.
// Model: each stage costs the whole host overhead; what one sends to the next costs nothing.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "models/compute/attention_time.hpp"
#include "models/compute/expert_time.hpp"
#include "models/compute/graph_sizes.hpp"
#include "models/compute/kernel_choice.hpp"
#include "models/compute/mla_time.hpp"
#include "models/compute/product_time.hpp"
#include "models/compute/step_cost.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr double kBf16Bytes = 2;
/// Behind attention, and behind the feed-forward layer.
constexpr double kReducesPerLayer = 2;

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
    const MlaWidths w = mla_widths(m, ranks);
    std::vector<Matrix> out = {of.matrix(h, m.kv_lora_rank + m.qk_rope_dim),
                               of.matrix(m.kv_lora_rank, w.heads * w.widened),
                               of.matrix(w.heads * m.v_head_dim, h)};
    if (m.q_lora_rank == 0) {  // queries without a latent (DeepSeek-V2-Lite)
      out.push_back(of.matrix(h, w.heads * w.query));
    } else {
      out.push_back(of.matrix(h, m.q_lora_rank));
      out.push_back(of.matrix(m.q_lora_rank, w.heads * w.query));
    }
    return out;
  }
  const double q = m.q_heads / ranks * m.head_dim;
  const double kv = std::max(1.0, m.kv_heads / ranks) * m.head_dim;
  return {of.matrix(h, q + 2 * kv), of.matrix(q, h)};
}

FeedForward feed_forward(double hidden, double width, const ProductTime& of) {
  return {of.matrix(hidden, 2 * width), of.matrix(width, hidden)};
}

/// Of attention's matrices.
WeightFormat attention_format(const ComponentsCost& p) {
  const WeightFormat layers = weight_format(p);
  return layers.attention ? layers : WeightFormat{};
}

class Components final : public StepCost {
 public:
  explicit Components(const ComponentsCost& p)
      : p_(p),
        ranks_(p.shards.tensor),
        stages_(p.shards.stages),
        products_(p, weight_format(p)),
        attention_products_(p, attention_format(p)),
        head_products_(p, WeightFormat{}),
        attention_time_(p),
        attention_(attention_matrices(*p.model, ranks_, attention_products_)),
        dense_width_(feed_forward(p.model->hidden, p.model->intermediate / ranks_, products_)),
        shared_width_(shared_experts(p.model->shared_experts)),
        head_matrix_(head_products_.matrix(p.model->hidden, p.model->vocab / ranks_)) {
    KV_ASSERT(p.shards.tensor == 1 || p.collectives, "ranks without collectives");
    KV_ASSERT(p.shards.engines == 1 || p.exchange, "engines without collectives");
    const ModelSpec& m = *p.model;
    const auto layers = [&](std::int64_t of) {
      return stages_ * double(stage_layers(of, p.shards));
    };
    layers_ = layers(m.layers);
    kv_layers_ = layers(m.kv_layers);
    if (m.is_moe()) {
      mixture_layers_ = std::max(0.0, layers_ - m.first_dense_layers);
      experts_.emplace(p, weight_format(p));
    }
    if (m.is_mla()) mla_.emplace(p, attention_products_);
    if (m.sliding_layers > 0) {
      sliding_time_.emplace(p, static_cast<std::uint32_t>(m.window));
      sliding_layers_ = kv_layers_ * m.sliding_layers / m.kv_layers;
    }
    if (p.profile == nullptr) return;
    p_.kernels.elementwise_us = p.profile->elementwise_us;
    p_.kernels.elementwise_efficiency = p.profile->elementwise_efficiency;
    elementwise_ratio_ = RatioTable(p.profile->elementwise);
    scales_ = p.profile->scales;
    sampler_us_ = p.profile->sampler_us;
  }

  Duration step_time(const StepShape& shape) override { return group_time({&shape, 1}); }

  Duration group_time(std::span<const StepShape> shapes) override {
    const Batches batches = batches_of(shapes);
    const double host_us = p_.host_overhead_us + (batches.replayed ? 0 : p_.eager_overhead_us);
    const double host = stages_ * host_us * 1e-6;
    double seconds = 0;
    for (const StepShape& shape : shapes) {
      const std::uint64_t tokens = batches.padded > 0 ? batches.padded : tokens_of(shape);
      const double attention = shape.tokens() > 0 ? attention_seconds(shape) : 0;
      seconds =
          std::max(seconds, host + dense_seconds(tokens) + attention + head_seconds(shape.sampled));
    }
    if (experts_) {
      seconds += mixture_layers_ *
                 (experts_->seconds(batches.all) * scales_.memory + exchange_seconds(batches));
    }
    // Less than nothing: kernels were measured eager, and the engine's compiled ones save more than
    // its host costs. That was fitted on larger steps than some; half of the kernels' time stays.
    if (host_us < 0) seconds = std::max(seconds, (seconds - host) / 2);
    if (!batches.replayed) seconds = std::max(seconds, host + layers_ * p_.launch_us * 1e-6);
    return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
  }

  std::uint32_t window() const override {
    return sliding_time_ ? static_cast<std::uint32_t>(p_.model->window) : 0;
  }

  Duration collective_time(const StepShape& shape, std::span<const StepShape> group) override {
    const Batches batches = batches_of(group);
    const std::uint64_t tokens = batches.padded > 0 ? batches.padded : shape.tokens();
    const double seconds = reduce_seconds(tokens) + gather_seconds(shape.sampled) +
                           mixture_layers_ * exchange_seconds(batches);
    return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
  }

 private:
  /// What engines that step together compute.
  struct Batches {
    bool replayed = true;      ///< a captured graph
    std::uint64_t padded = 0;  ///< each of them; 0: every one as it is
    std::uint64_t all = 0;     ///< tokens of all
  };

  /// A dummy batch has one token.
  static std::uint64_t tokens_of(const StepShape& shape) {
    return std::max<std::uint64_t>(shape.tokens(), 1);
  }

  Batches batches_of(std::span<const StepShape> shapes) const {
    Batches out;
    std::uint64_t most = 0;
    for (const StepShape& shape : shapes) {
      most = std::max(most, shape.tokens());
      out.all += tokens_of(shape);
    }
    KV_ASSERT(most > 0, "a step of no tokens");
    if (!graphs_matter(p_.profile != nullptr, p_.eager_overhead_us, p_.launch_us)) return out;
    out.replayed = most <= p_.graph_tokens;
    if (!out.replayed) return out;
    out.padded = graph_padded(most, p_.graph_tokens);
    out.all = out.padded * shapes.size();
    return out;
  }

  /// Of one layer.
  double exchange_seconds(const Batches& batches) const {
    if (!p_.exchange) return 0;
    constexpr double kChoiceBytes = 8;  // an index and a weight of each expert that a token picks
    const double states = static_cast<double>(batches.all) * p_.model->hidden * kBf16Bytes;
    const double choices =
        static_cast<double>(batches.all) * p_.model->experts_per_token * kChoiceBytes;
    const double seconds =
        p_.exchange->seconds(Collective::kAllGather, states + choices, batches.replayed) +
        p_.exchange->seconds(Collective::kReduceScatter, states, batches.replayed);
    return seconds * scales_.collectives;
  }

  /// All all-reduces of a batch of `tokens`.
  double reduce_seconds(std::uint64_t tokens) const {
    if (!p_.collectives) return 0;
    const double bytes = static_cast<double>(tokens) * p_.model->hidden * kBf16Bytes;
    return (layers_ * kReducesPerLayer + 1) * scales_.collectives *
           p_.collectives->seconds(Collective::kAllReduce, bytes, tokens <= p_.graph_tokens);
  }

  /// vllm/model_executor/layers/logits_processor.py: an all-gather over the vocabulary, outside of
  /// the captured graph.
  double gather_seconds(std::uint32_t sampled) const {
    if (!p_.collectives || sampled == 0) return 0;
    const double bytes = static_cast<double>(sampled) * p_.model->vocab * kBf16Bytes;
    return p_.collectives->seconds(Collective::kAllGather, bytes, false) * scales_.collectives;
  }

  /// Of all layers.
  double attention_seconds(const StepShape& shape) const {
    if (mla_) return kv_layers_ * mla_->seconds(shape);
    double out = (kv_layers_ - sliding_layers_) * attention_time_.seconds(shape);
    if (sliding_time_) out += sliding_layers_ * sliding_time_->seconds(shape);
    return out;
  }

  /// All matrix products, but those of routed experts, and element-wise passes of `tokens`.
  double dense_seconds(std::uint64_t tokens) {
    if (tokens >= dense_.size()) dense_.resize(tokens + 1, 0);
    double& known = dense_[tokens];
    if (known > 0) return known;
    const ModelSpec& m = *p_.model;
    const auto t = static_cast<double>(tokens);
    double attention = 0;
    for (const Matrix& matrix : attention_) attention += attention_products_.seconds(matrix, t);
    double feed_forward =
        (layers_ - mixture_layers_) *
        (mlp_seconds(dense_width_, t) + between_seconds(dense_passes(m, ranks_), t));
    if (m.is_moe()) {
      feed_forward += mixture_layers_ * between_seconds(mixture_passes(), t);
      if (m.shared_experts > 0) feed_forward += mixture_layers_ * mlp_seconds(shared_width_, t);
    }
    known = layers_ * attention + feed_forward + reduce_seconds(tokens);
    return known;
  }

  /// Between the products of one layer.
  double between_seconds(const LayerPasses& passes, double tokens) const {
    const ElementwiseForm form = {p_.kernels.elementwise_us, p_.kernels.elementwise_efficiency};
    return scales_.memory * elementwise_seconds(form, passes, tokens, p_.gpu->memory_gbs * 1e9) *
           elementwise_ratio_.at({tokens});
  }

  /// Routed experts have their activation within.
  LayerPasses mixture_passes() const {
    const ModelSpec& m = *p_.model;
    return layer_passes(m, ranks_, double(m.shared_experts) * m.expert_intermediate / ranks_);
  }

  /// Together; each engine has its own.
  FeedForward shared_experts(int experts) const {
    if (experts == 0) return {};
    return feed_forward(p_.model->hidden, experts * (p_.model->expert_intermediate / ranks_),
                        products_);
  }

  double mlp_seconds(const FeedForward& layer, double rows) const {
    return products_.seconds(layer.in, rows) + products_.seconds(layer.out, rows);
  }

  double head_seconds(std::uint32_t sampled) {
    if (sampled == 0) return 0;
    if (sampled >= head_.size()) head_.resize(sampled + 1, 0);
    double& known = head_[sampled];
    if (known > 0) return known;
    known = head_products_.seconds(head_matrix_, sampled) + sampled * p_.sequence_us * 1e-6 +
            gather_seconds(sampled);
    if (sampler_us_ > 0) known += sampler_us_ * 1e-6;
    return known;
  }

  ComponentsCost p_;
  double ranks_;
  double stages_;
  ProductTime products_;
  ProductTime attention_products_;
  ProductTime head_products_;
  AttentionTime attention_time_;
  std::optional<AttentionTime> sliding_time_;
  std::optional<MlaTime> mla_;
  std::vector<Matrix> attention_;
  FeedForward dense_width_;
  FeedForward shared_width_;           ///< of the shared experts together
  std::optional<ExpertTime> experts_;  ///< routed ones, of a mixture
  Matrix head_matrix_;
  RatioTable elementwise_ratio_;
  KernelScales scales_;
  double sampler_us_ = 0;
  double layers_ = 0;  ///< over all stages, each as many as the fullest
  double kv_layers_ = 0;
  double sliding_layers_ = 0;  ///< of these
  double mixture_layers_ = 0;  ///< of layers_, those with experts
  std::vector<double> dense_;  ///< by number of tokens; 0: not computed yet
  std::vector<double> head_;   ///< by number of sampled rows; 0: not computed yet
};

}  // namespace

std::unique_ptr<StepCost> make_components_cost(const ComponentsCost& parameters) {
  KV_ASSERT(parameters.model != nullptr && parameters.gpu != nullptr, "components of nothing");
  return std::make_unique<Components>(parameters);
}

}  // namespace spillway
