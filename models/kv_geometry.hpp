// How many bytes the KV cache of a token and of a block has, and how many blocks fit a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_spec.hpp"
#include "sim/units.hpp"

namespace spillway {

/// Width of a stored key or value element.
enum class KvDtype : std::uint8_t { kBf16, kFp8, kFp4 };

/// "auto", "bf16", "fp16", "float16", "bfloat16"; "fp8", "fp8_e4m3", "fp8_e5m2", "int8"; "fp4".
/// Throws InputError (exit 2) for any other.
KvDtype parse_kv_dtype(std::string_view name, const SourceRef& where);
int bits_of(KvDtype dtype);

/// How one engine's model is spread over GPUs: every rank of a stage has a share of each layer, and
/// every stage has a share of the layers.
struct ModelShards {
  std::uint32_t tensor = 1;
  std::uint32_t stages = 1;
  std::uint32_t engines = 1;   ///< of data parallelism, over whose ranks experts are divided, too
  bool whole_experts = false;  ///< each of these ranks has some experts, not a part of each
  std::uint32_t ranks() const { return tensor * stages; }
  std::uint32_t expert_ranks() const { return tensor * engines; }
};

/// Layers of the stage that has most of them.
std::int64_t stage_layers(std::int64_t layers, const ModelShards& shards);

/// Key and value elements of one token and layer on one rank. A rank has at least one KV head, so
/// that heads are repeated where ranks outnumber them; an MLA latent is whole on every rank.
std::int64_t rank_kv_elements(const ModelSpec& model, const ModelShards& shards);

/// Of a token's `total` KV bytes over `layers` layers (0: not known), those on one rank. Without a
/// model, heads are taken to divide evenly.
Bytes rank_kv_bytes(Bytes total, const ModelSpec* model, std::int64_t layers,
                    const ModelShards& shards);

/// KV bytes of one token over all layers of one full copy of the model. Scale factors of quantised
/// caches are not counted.
Bytes kv_bytes_per_token(const ModelSpec& model, KvDtype dtype);

/// The formula of kv_bytes_per_token filled in for `tokens`, one line.
std::string kv_formula(const ModelSpec& model, KvDtype dtype, Tokens tokens);

/// What the same model would need if every query head had its own keys and values (MHA).
Bytes kv_bytes_per_token_mha(const ModelSpec& model, KvDtype dtype);

/// How vLLM fills a GPU, each rank's alike: what it may use, what it needs besides KV, and what
/// remains.
struct HbmBudget {
  Bytes visible;    ///< what CUDA sees: the driver's total less its own reserve
  Bytes requested;  ///< visible x gpu_memory_utilization
  Bytes weights;
  Bytes activations;  ///< peak of the profiling run
  Bytes other;        ///< CUDA context growth, workspaces, allocator slack
  Bytes cuda_graphs;  ///< as given; nothing is assumed
  Bytes kv;           ///< what is left; negative when nothing is
};

struct EngineMemory {
  double gpu_memory_utilization = 0.92;
  std::int64_t max_num_batched_tokens = 8192;
  std::int64_t max_num_seqs = 1024;
  Bytes cuda_graphs{0};
  ModelShards shards{};
};

/// Model: capacity within 1% of the measured block counts of Llama-3.1-8B on H100 and RTX 4090 and,
/// not fitted, Qwen2.5-7B on H100 (constants and their sources in kv_geometry.cpp). Of several
/// ranks it is the budget of one in the fullest stage: ranks share weights and the feed-forward
/// buffers evenly, while hidden states and the sampler's rows are whole on each. No such capacity
/// was measured.
HbmBudget hbm_budget(const ModelSpec& model, const GpuSpec& gpu, const EngineMemory& engine);

}  // namespace spillway
