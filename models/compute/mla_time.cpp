#include "models/compute/mla_time.hpp"

#include <algorithm>
#include <cmath>

#include "models/compute/kernel_choice.hpp"

namespace spillway {

namespace {

// FlashMLA on H800: 660 of 989 TFLOP/s in BF16 where products bind (deepseek-ai/FlashMLA, README,
// 2025-04-22).
// Model: of other GPUs the same share. Of bytes read, a GPU's decode attention has its own.
constexpr double kMlaFlopEfficiency = 660.0 / 989;

}  // namespace

MlaWidths mla_widths(const ModelSpec& m, double ranks) {
  return {m.q_heads / ranks, double(m.qk_nope_dim) + m.qk_rope_dim,
          double(m.qk_nope_dim) + m.v_head_dim};
}

MlaTime::MlaTime(const ComponentsCost& p, const ProductTime& products)
    : products_(&products),
      prefill_(p),
      form_{p.kernels.decode_us, p.kernels.decode_efficiency, p.kernels.decode_sequence_us},
      token_bytes_(double(p.model->kv_elements_per_token_layer) * p.kv_bits / 8),
      memory_rate_(p.gpu->memory_gbs * 1e9),
      flop_rate_(kMlaFlopEfficiency * p.gpu->bf16_tflops * 1e12) {
  const ModelSpec& m = *p.model;
  const MlaWidths widths = mla_widths(m, p.shards.tensor);
  widen_ = products.matrix(m.kv_lora_rank, widths.heads * widths.widened);
  // Scores over latent and position, then the latent weighted by them.
  token_flops_ = 2 * widths.heads * (2.0 * m.kv_lora_rank + m.qk_rope_dim);
  const AttentionKernels* k =
      p.profile == nullptr ? nullptr : choose_attention(*p.profile, p.kv_bits, m.head_dim);
  if (k != nullptr) form_ = decode_form(*k);
  if (p.profile != nullptr) scale_ = p.profile->scales.attention;
}

double MlaTime::seconds(const StepShape& shape) const {
  double out = shape.decodes > 0 ? decode(shape) : 0;
  if (shape.prefills.empty()) return out;
  StepShape prefills;
  prefills.prefills = shape.prefills;
  out += prefill_.seconds(prefills);
  std::uint64_t cached = 0;
  for (const PrefillChunk& chunk : shape.prefills) cached += chunk.cached;
  // Model: in one product; vLLM widens a workspace of them at a time
  // (vllm/v1/attention/backends/mla/common.py, chunked prefill).
  if (cached > 0) out += products_->seconds(widen_, static_cast<double>(cached));
  return out;
}

double MlaTime::decode(const StepShape& shape) const {
  const auto held = static_cast<double>(shape.decode_context);
  const double read = held * token_bytes_ / (form_.efficiency * memory_rate_);
  const double busy = std::max(read, held * token_flops_ / flop_rate_);
  const double fixed = form_.fixed_us * 1e-6;
  return scale_ *
         (std::sqrt(fixed * fixed + busy * busy) + shape.decodes * form_.sequence_us * 1e-6);
}

}  // namespace spillway
