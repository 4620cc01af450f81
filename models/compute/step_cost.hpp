// How long one engine step takes, from the shape of its batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_spec.hpp"
#include "models/catalogue/weights.hpp"
#include "models/compute/collective.hpp"
#include "models/kv_geometry.hpp"
#include "sim/decimal.hpp"
#include "sim/units.hpp"

namespace spillway {

/// A request that computes `tokens` new tokens behind `cached` ones already computed.
struct PrefillChunk {
  std::uint32_t tokens;
  std::uint32_t cached;
};

/// What one step computes. A decode computes one token and emits the next; everything else is a
/// prefill chunk (also the recomputation after a preemption).
struct StepShape {
  std::uint32_t decodes = 0;
  std::uint64_t decode_context = 0;  ///< sum over decodes of tokens held, the new one included
  /// The same of at most StepCost::window() tokens each; 0: not counted, the mean stands in.
  std::uint64_t windowed_context = 0;
  std::span<const PrefillChunk> prefills;
  std::uint32_t sampled = 0;  ///< requests that emit a token at the end of the step

  std::uint64_t prompt_tokens() const {
    std::uint64_t out = 0;
    for (const PrefillChunk& chunk : prefills) out += chunk.tokens;
    return out;
  }
  std::uint64_t tokens() const { return decodes + prompt_tokens(); }
};

class StepCost {
 public:
  virtual ~StepCost() = default;
  /// Duration of the step; at least one token is computed. Not const: results may be cached.
  virtual Duration step_time(const StepShape& shape) = 0;
  /// Of a step that engines of data parallelism take together, each its own shape; one without
  /// tokens runs a dummy batch. Some engine has tokens.
  virtual Duration group_time(std::span<const StepShape> shapes) {
    Duration longest{};
    for (const StepShape& shape : shapes) {
      if (shape.tokens() > 0) longest = std::max(longest, step_time(shape));
    }
    return longest;
  }
  /// What of that the engine of `shape`, one of `group`, spends in collectives: of its ranks, and
  /// of engines that share experts.
  virtual Duration collective_time(const StepShape& /*shape*/,
                                   std::span<const StepShape> /*group*/) {
    return Duration(0);
  }
  /// Tokens that layers of sliding attention read at most; 0: no such layer.
  virtual std::uint32_t window() const { return 0; }
};

/// step + token x sum(n) + kv_token x sum(c + n), rounded up to a nanosecond; exact for the
/// decimals the user wrote. The reference scenario's model.
struct LinearCost {
  Decimal step_us;
  Decimal token_ns;
  Decimal kv_token_ns;
};
/// Throws std::out_of_range when a parameter is beyond 10^9 or finer than 10^-9.
std::unique_ptr<StepCost> make_linear_cost(const LinearCost& parameters);

struct ComputeProfile;

/// An element-wise kernel of few tokens: 1.9 to 2.6 us on two GPUs (casys-kaist/LLMServingSim,
/// profiler/perf/RTX4090 and RTXPRO6000: layernorm, rotary_emb, qk_norm, act_fn of one token).
inline constexpr double kElementwiseKernelUs = 2.0;

/// Efficiencies of one GPU's kernels, for `components`.
struct KernelCoefficients {
  double gemm_overhead_us;    ///< per matrix product
  double flop_efficiency;     ///< share of peak FLOP/s that large products reach
  double byte_efficiency;     ///< share of peak bandwidth that thin products reach
  double gemm_norm;           ///< exponent p of (compute^p + memory^p)^(1/p)
  double prefill_us;          ///< fixed part of a prefill attention call
  double prefill_key_ns;      ///< per key, wave and layer (64 queries x one head per SM and wave)
  double prefill_lead_keys;   ///< keys' worth of start-up per wave
  double decode_us;           ///< fixed part of a decode attention call
  double decode_efficiency;   ///< share of peak bandwidth reading KV
  double decode_sequence_us;  ///< per sequence in the batch
  double mixed_factor;        ///< decode attention beside prefill: factor x GQA ratio, at least 1
  double elementwise_efficiency;  ///< share of peak bandwidth; above 1: from the L2 cache
  double elementwise_us = kElementwiseKernelUs;  ///< per kernel between products
};

/// Whether a step takes longer where it replays no captured graph.
inline bool graphs_matter(bool profiled, double eager_overhead_us, double launch_us) {
  return profiled || eager_overhead_us > 0 || launch_us > 0;
}

struct ComponentsCost {
  const ModelSpec* model = nullptr;
  const GpuSpec* gpu = nullptr;
  KernelCoefficients kernels{};
  double host_overhead_us = 0;            ///< per step
  double eager_overhead_us = 0;           ///< more, per step that replays no captured graph
  double launch_us = 0;                   ///< of a layer, by the host: such a step takes no less
  std::uint32_t graph_tokens = 512;       ///< largest batch that replays one (graph_sizes.hpp)
  std::optional<WeightFormat> weights{};  ///< of layers; none: as published
  double sequence_us = 0;                 ///< per sampled sequence (sampler)
  std::int32_t kv_bits = 16;
  ModelShards shards{};                      ///< the step is that of all stages, one after another
  std::optional<Collectives> collectives{};  ///< of the ranks of a stage, where there are several
  std::optional<Collectives> exchange{};     ///< of engines that share experts (shards.engines)
  /// Measured kernels, in place of `kernels`; null: none. Outlives the cost.
  const ComputeProfile* profile = nullptr;
};

/// The coefficients for `gpu` and where they come from; generic ones, with `measured` false, for a
/// GPU that nobody measured.
struct KernelSource {
  KernelCoefficients kernels;
  bool measured;
  std::string_view source;
};
KernelSource kernel_coefficients(const GpuSpec& gpu);

/// Default per-step host overhead and sampler time, and their source.
inline constexpr double kDefaultHostOverheadUs = 700;
inline constexpr double kDefaultSequenceUs = 1.1;
/// Qwen2.5-7B without graphs takes 22 ms a step for its 28 layers, on A800 that need 13 ms with
/// graphs (vllm-project/vllm-omni issue 7960). With 70B on 4 and 8 B200 it halves the error of TTFT
/// (scenarios/validation). Model: compiled code without a graph launches as slowly.
inline constexpr double kDefaultLaunchUs = 786;
std::string_view host_overhead_source();

std::unique_ptr<StepCost> make_components_cost(const ComponentsCost& parameters);

}  // namespace spillway
