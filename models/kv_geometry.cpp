#include "models/kv_geometry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/catalogue/weights.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

struct DtypeName {
  std::string_view name;
  KvDtype dtype;
};
constexpr std::array<DtypeName, 10> kDtypes = {{{"auto", KvDtype::kBf16},
                                                {"bf16", KvDtype::kBf16},
                                                {"bfloat16", KvDtype::kBf16},
                                                {"fp16", KvDtype::kBf16},
                                                {"float16", KvDtype::kBf16},
                                                {"fp8", KvDtype::kFp8},
                                                {"fp8_e4m3", KvDtype::kFp8},
                                                {"fp8_e5m2", KvDtype::kFp8},
                                                {"int8", KvDtype::kFp8},
                                                {"fp4", KvDtype::kFp4}}};

// Bytes the driver keeps from CUDA: an H100 reports 81,559 MiB to nvidia-smi and 79.19 GiB to
// PyTorch, an RTX 4090 24,564 MiB and 23.52 GiB; both differ by about 468 MiB
// (llm-d-incubation/llm-d-planner: accuracy/results/v0.19.0/logs).
constexpr Bytes kDriverReserve = 468_MiB;

// vLLM's profiling run samples max_num_seqs rows over the vocabulary: logits in BF16 (2 bytes),
// then FP32 logits, probabilities and exponential noise (4 bytes each), 14 bytes an entry. Nineteen
// H100 runs of vLLM 0.19 (same report) fit 14 bytes x rows x vocabulary + 0.18 GiB within 0.1 GiB
// for the dense Llama, Qwen and Phi models.
constexpr std::int64_t kSamplerBytes = 14;

// Hidden-state buffers alive at the same time, in units of tokens x hidden x 2 bytes: 0.18 GiB at
// 8,192 x 4,096 (same report).
constexpr double kHiddenBuffers = 2.8;

// A feed-forward layer's buffers: gate and up (2 x intermediate) and their product, BF16, beside
// the hidden states: reproduces the 0.77 GiB of CodeLlama-7B, whose vocabulary is too small to
// dominate.
constexpr double kFeedForwardBuffers = 3;

// Everything else: CUDA context growth (0.25 GiB on H100), workspaces, allocator slack. The H100
// runs leave about 0.4 GiB less for it than the RTX 4090 run (casys-kaist/LLMServingSim: 2,588
// blocks at 0.9); one constant serves both, 0.7% low on the first and 0.2% high on the second.
constexpr Bytes kOther = 700_MiB;
// More where ranks reduce: NCCL's buffers and all-reduce workspaces. Llama-3-8B on H100 has 1.79
// GiB outside of torch on one GPU and 3.58 GiB on each of two (vllm-project/vllm PR 10511). With it
// the pools of three Qwen3 models on two L40S (natoscott/benchmarks, vLLM 0.11 to 0.17) are
// estimated 3 to 6% too large, without it 8 to 14%.
constexpr Bytes kOtherOfRanks = 1833_MiB;

Bytes whole_bytes(double bytes) {
  return Bytes(static_cast<std::int64_t>(std::ceil(bytes)));
}

/// Over all layers. Engines of data parallelism share nothing but experts.
double rank_weight_bytes(const ModelSpec& model, const ModelShards& shards) {
  const auto all = static_cast<double>(model.weight_bytes);
  if (shards.engines == 1) return all / shards.tensor;
  const double experts = all * expert_weights(model) / static_cast<double>(model.params_total);
  return ((all - experts) + experts / shards.engines) / shards.tensor;
}

std::int64_t elements_per_token(const ModelSpec& model) {
  return model.kv_elements_per_token_layer * model.kv_layers;
}

}  // namespace

KvDtype parse_kv_dtype(std::string_view name, const SourceRef& where) {
  return find_row(std::span<const DtypeName>(kDtypes), "KV dtype", name, where).dtype;
}

int bits_of(KvDtype dtype) {
  switch (dtype) {
    case KvDtype::kBf16:
      return 16;
    case KvDtype::kFp8:
      return 8;
    case KvDtype::kFp4:
      return 4;
  }
  return 16;
}

Bytes kv_bytes_per_token(const ModelSpec& model, KvDtype dtype) {
  return Bytes(elements_per_token(model) * bits_of(dtype) / 8);
}

std::int64_t stage_layers(std::int64_t layers, const ModelShards& shards) {
  return ceil_div(layers, shards.stages);
}

std::int64_t rank_kv_elements(const ModelSpec& model, const ModelShards& shards) {
  if (model.is_mla() || shards.tensor == 1) return model.kv_elements_per_token_layer;
  const std::int64_t heads =
      std::max<std::int64_t>(1, model.kv_heads / static_cast<std::int32_t>(shards.tensor));
  return model.kv_elements_per_token_layer / model.kv_heads * heads;
}

Bytes rank_kv_bytes(Bytes total, const ModelSpec* model, std::int64_t layers,
                    const ModelShards& shards) {
  if (shards.ranks() == 1) return total;
  const std::int64_t of = layers > 0 ? layers : shards.stages;
  std::int64_t share = stage_layers(of, shards);
  std::int64_t whole = of;
  if (model == nullptr) {
    whole *= shards.tensor;
  } else {
    share *= rank_kv_elements(*model, shards);
    whole *= model->kv_elements_per_token_layer;
  }
  const std::int64_t common = std::gcd(share, whole);
  return Bytes(ceil_div(total.count() * (share / common), whole / common));
}

Bytes kv_bytes_per_token_mha(const ModelSpec& model, KvDtype dtype) {
  return Bytes(std::int64_t{2} * model.q_heads * model.head_dim * model.kv_layers * bits_of(dtype) /
               8);
}

std::string kv_formula(const ModelSpec& model, KvDtype dtype, Tokens tokens) {
  const Bytes total = kv_bytes_per_token(model, dtype) * tokens.count();
  const std::string per_layer =
      model.is_mla()
          ? fmt::format("({} latent + {} rope)", model.kv_lora_rank, model.qk_rope_dim)
          : fmt::format("2 (K and V) x {} KV heads x {} head dim", model.kv_heads, model.head_dim);
  return fmt::format("{} x {} layers x {} tokens x {} bits / 8 = {} bytes", per_layer,
                     model.kv_layers, tokens.count(), bits_of(dtype), total.count());
}

HbmBudget hbm_budget(const ModelSpec& model, const GpuSpec& gpu, const EngineMemory& engine) {
  const auto tokens = static_cast<double>(engine.max_num_batched_tokens);
  const double hidden = kHiddenBuffers * tokens * model.hidden * 2;
  const double rows =
      static_cast<double>(std::min(engine.max_num_seqs, engine.max_num_batched_tokens));
  const double sampler = static_cast<double>(kSamplerBytes) * rows * model.vocab + hidden;
  const double feed_forward =
      kFeedForwardBuffers * tokens * model.intermediate * 2 / engine.shards.tensor + hidden;

  HbmBudget out;
  out.visible = Bytes(gpu.memory_bytes) - kDriverReserve;
  out.requested =
      whole_bytes(static_cast<double>(out.visible.count()) * engine.gpu_memory_utilization);
  const double stage = static_cast<double>(stage_layers(model.layers, engine.shards)) /
                       static_cast<double>(model.layers);
  out.weights = engine.shards.ranks() * engine.shards.engines == 1
                    ? Bytes(model.weight_bytes)
                    : whole_bytes(rank_weight_bytes(model, engine.shards) * stage);
  out.activations = whole_bytes(std::max(sampler, feed_forward));
  out.other = engine.shards.tensor > 1 ? kOther + kOtherOfRanks : kOther;
  out.cuda_graphs = engine.cuda_graphs;
  out.kv = out.requested - out.weights - out.activations - out.other - out.cuda_graphs;
  return out;
}

}  // namespace spillway
