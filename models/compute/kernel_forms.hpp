// The forms that kernel times follow, each in one place: what `components` computes with and what
// fits invert.
//
//   product   overhead + (compute^norm + memory^norm)^(1/norm)
//   prefill   fixed + waves x (keys + lead) x key time; a wave has one tile of 64 queries x one
//   head
//             on each SM
//   decode    hypot(fixed, bytes read) + sequences x sequence time
//   mixed     what decodes take beside a prefill: the decode's time x max(1, factor x GQA ratio)
//   elementwise   kernels x launch + bytes read and written (layer_passes.hpp)
//   experts   overhead + (compute^norm + memory^norm)^(1/norm) of the routed experts of one layer
//
// A ratio of a compute profile (compute_profile.hpp) is measured time over these. Times in seconds.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/catalogue/gpu_spec.hpp"
#include "models/compute/compute_profile.hpp"
#include "models/compute/layer_passes.hpp"
#include "models/compute/step_cost.hpp"
#include "sim/det_math.hpp"

namespace spillway {

inline constexpr double kActivationBytes = 2;
inline constexpr int kTileQueries = 64;
inline constexpr int kUsualHeadWidth = 128;  ///< that of most models and tables
/// Gate, choice, sorting of rows and sum of a layer of experts on a GPU that nobody measured: that
/// of the RTX PRO 6000 (rtxpro6000-qwen3-30b-a3b-kernels.json in scenarios/hardware).
inline constexpr double kExpertLayerUs = 28;

/// What the hardware could do at most.
struct PeakRates {
  double flops = 0;   ///< per second, of the type that is multiplied
  double memory = 0;  ///< bytes per second
  int sm_count = 0;
};

/// Of products with weights of that type. A GPU without FP8 units multiplies FP8 weights as BF16.
inline PeakRates product_peaks(const GpuSpec& gpu, bool fp8_weights) {
  const double tflops = fp8_weights && gpu.fp8_tflops > 0 ? gpu.fp8_tflops : gpu.bf16_tflops;
  return {tflops * 1e12, gpu.memory_gbs * 1e9, gpu.sm_count};
}

struct ProductForm {
  double overhead_us = 0;
  double flop_efficiency = 1;
  double byte_efficiency = 1;
  double norm = 2;
};

/// A weight matrix, inputs x outputs, multiplied by `rows` rows.
struct ProductShape {
  double rows = 0;
  double inputs = 0;
  double outputs = 0;
};

inline double product_seconds(const ProductForm& form, const ProductShape& s,
                              const PeakRates& peaks, double weight_bytes) {
  const double compute = 2 * s.rows * s.inputs * s.outputs / (form.flop_efficiency * peaks.flops);
  const double bytes =
      s.inputs * s.outputs * weight_bytes + s.rows * (s.inputs + s.outputs) * kActivationBytes;
  const double memory = bytes / (form.byte_efficiency * peaks.memory);
  return form.overhead_us * 1e-6 + det::norm(compute, memory, form.norm);
}

struct PrefillForm {
  double fixed_us = 0;
  double key_ns = 0;  ///< per key, wave and layer
  double lead_keys = 0;
};

/// Prefill chunks that one call computes, with means weighted by tiles.
class PrefillCall {
 public:
  explicit PrefillCall(double q_heads) : heads_(q_heads) {}

  /// `count` chunks of `tokens` new tokens behind `cached` ones.
  void add(double tokens, double cached, double count = 1) {
    const double tiles = count * heads_ * std::ceil(tokens / kTileQueries);
    chunks_ += count;
    tiles_ += tiles;
    tokens_ += tiles * tokens;
    cached_ += tiles * cached;
  }
  double tiles() const { return tiles_; }
  double head_chunks() const { return heads_ * chunks_; }  ///< query heads x chunks
  double tokens() const { return tokens_ / tiles_; }
  double cached() const { return cached_ / tiles_; }
  double keys() const { return (cached_ + tokens_ / 2) / tiles_; }

 private:
  double heads_;
  double chunks_ = 0;
  double tiles_ = 0;
  double tokens_ = 0;
  double cached_ = 0;
};

/// Without the fixed part.
inline double wave_seconds(const PrefillForm& form, double waves, double keys) {
  return waves * (keys + form.lead_keys) * form.key_ns * 1e-9;
}

/// Precondition: a chunk was added.
inline double prefill_seconds(const PrefillForm& form, const PrefillCall& call, double sm_count) {
  const double waves = std::ceil(call.tiles() / sm_count);
  return form.fixed_us * 1e-6 + wave_seconds(form, waves, call.keys());
}

struct DecodeForm {
  double fixed_us = 0;
  double efficiency = 1;
  double sequence_us = 0;
};

/// `bytes`: the KV of one layer that all sequences hold together, the new token included.
inline double decode_seconds(const DecodeForm& form, double sequences, double bytes,
                             double memory_rate) {
  const double read = bytes / (form.efficiency * memory_rate);
  const double fixed = form.fixed_us * 1e-6;
  return std::sqrt(fixed * fixed + read * read) + sequences * form.sequence_us * 1e-6;
}

inline double mixed_slowdown(double mixed_factor, double gqa_ratio) {
  return std::max(1.0, mixed_factor * gqa_ratio);
}

struct ElementwiseForm {
  double kernel_us = 0;   ///< of a kernel of few tokens
  double efficiency = 1;  ///< of the memory's peak rate; above 1 where values stay in the L2 cache
};

/// Of one layer.
inline double elementwise_seconds(const ElementwiseForm& form, const LayerPasses& layer,
                                  double tokens, double memory_rate) {
  return layer.kernels * form.kernel_us * 1e-6 +
         layer.values * kActivationBytes * tokens / (form.efficiency * memory_rate);
}

/// The routed experts of one layer on one rank: gate, choice, both products of every expert that a
/// row picked, and their sum.
struct ExpertShape {
  double rows = 0;       ///< tokens x experts that each picks, of the experts here
  double activated = 0;  ///< experts that some row picked, whose weights are read
  double hidden = 0;
  double width = 0;  ///< of one expert
};

inline double experts_seconds(const ProductForm& form, const ExpertShape& s, const PeakRates& peaks,
                              double weight_bytes) {
  constexpr double kMatrices = 3;  // gate, up and down
  const double weights = kMatrices * s.hidden * s.width;
  const double compute = 2 * s.rows * weights / (form.flop_efficiency * peaks.flops);
  const double bytes = s.activated * weights * weight_bytes +
                       s.rows * (2 * s.hidden + kMatrices * s.width) * kActivationBytes;
  const double memory = bytes / (form.byte_efficiency * peaks.memory);
  return form.overhead_us * 1e-6 + det::norm(compute, memory, form.norm);
}

inline ProductForm form_of(const ExpertKernels& k) {
  return {k.overhead_us, k.flop_efficiency, k.byte_efficiency, k.norm};
}
inline ProductForm form_of(const ProductKernels& k) {
  return {k.overhead_us, k.flop_efficiency, k.byte_efficiency, k.norm};
}
inline PrefillForm prefill_form(const AttentionKernels& k) {
  return {k.prefill_us, k.prefill_key_ns, k.prefill_lead_keys};
}
inline DecodeForm decode_form(const AttentionKernels& k) {
  return {k.decode_us, k.decode_efficiency, k.decode_sequence_us};
}

/// A GPU's coefficients as the kernels of a profile that nothing measured.
inline ProductKernels product_kernels(const KernelCoefficients& k, std::string dtype) {
  ProductKernels out;
  out.dtype = std::move(dtype);
  out.overhead_us = k.gemm_overhead_us;
  out.flop_efficiency = k.flop_efficiency;
  out.byte_efficiency = k.byte_efficiency;
  out.norm = k.gemm_norm;
  return out;
}
inline ExpertKernels expert_kernels(const KernelCoefficients& k, std::string dtype) {
  ExpertKernels out;
  out.dtype = std::move(dtype);
  out.overhead_us = kExpertLayerUs;
  out.flop_efficiency = k.flop_efficiency;
  out.byte_efficiency = k.byte_efficiency;
  out.norm = k.gemm_norm;
  return out;
}
inline AttentionKernels attention_kernels(const KernelCoefficients& k, std::string kv_dtype) {
  AttentionKernels out;
  out.kv_dtype = std::move(kv_dtype);
  out.prefill_us = k.prefill_us;
  out.prefill_key_ns = k.prefill_key_ns;
  out.prefill_lead_keys = k.prefill_lead_keys;
  out.decode_us = k.decode_us;
  out.decode_efficiency = k.decode_efficiency;
  out.decode_sequence_us = k.decode_sequence_us;
  out.mixed_factor = k.mixed_factor;
  return out;
}

}  // namespace spillway
