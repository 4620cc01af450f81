#include "models/compute/attention_time.hpp"

#include <array>

#include "models/compute/kernel_choice.hpp"

namespace spillway {

namespace {

/// Of keys and values on average: an MLA model's prefill has keys wider than values.
double head_width(const ModelSpec& m) {
  return m.is_mla() ? (m.qk_nope_dim + m.qk_rope_dim + m.v_head_dim) / 2.0 : m.head_dim;
}

}  // namespace

AttentionTime::AttentionTime(const ComponentsCost& p, std::uint32_t window)
    : q_heads_(ceil_div(p.model->q_heads, p.shards.tensor)),
      kv_heads_(std::max(1.0, p.model->kv_heads / double(p.shards.tensor))),
      sm_count_(p.gpu->sm_count),
      memory_rate_(p.gpu->memory_gbs * 1e9),
      bytes_per_token_(double(rank_kv_elements(*p.model, p.shards)) * p.kv_bits / 8),
      window_(window),
      prefill_form_{p.kernels.prefill_us, p.kernels.prefill_key_ns, p.kernels.prefill_lead_keys},
      decode_form_{p.kernels.decode_us, p.kernels.decode_efficiency, p.kernels.decode_sequence_us} {
  const ModelSpec& m = *p.model;
  const double gqa_ratio = m.is_mla() ? 1 : m.q_heads / double(p.shards.tensor) / kv_heads_;
  slowdown_ = mixed_slowdown(p.kernels.mixed_factor, gqa_ratio);
  const AttentionKernels* k =
      p.profile == nullptr ? nullptr : choose_attention(*p.profile, p.kv_bits, m.head_dim);
  if (p.profile != nullptr) scale_ = p.profile->scales.attention;
  // Model: a key of another width than the measured takes time in proportion. H100 tables of
  // aiconfigurator: 0.82 of the measured time at half the width, 1.21 at twice.
  const double width = head_width(m);
  if (k == nullptr) {
    prefill_form_.key_ns *= width / kUsualHeadWidth;
    return;
  }
  measured_ = true;
  prefill_form_ = prefill_form(*k);
  prefill_form_.key_ns *= width / k->head_dim;
  decode_form_ = decode_form(*k);
  slowdown_ = mixed_slowdown(k->mixed_factor, gqa_ratio);
  const auto either = [&](const RatioGrid& gqa, const RatioGrid& mha) {
    const bool one_to_one = is_mha(m) || m.is_mla();
    const RatioGrid& first = one_to_one ? mha : gqa;
    return RatioTable(first.empty() ? (one_to_one ? gqa : mha) : first);
  };
  prefill_ratio_ = either(k->prefill, k->prefill_mha);
  decode_ratio_ = either(k->decode, k->decode_mha).fixed(2, kv_heads_);
  mixed_ratio_ = RatioTable(k->mixed);
}

double AttentionTime::seconds(const StepShape& shape) const {
  return scale_ * (measured_ ? measured_seconds(shape) : form_seconds(shape));
}

double AttentionTime::form_seconds(const StepShape& shape) const {
  const double before = shape.prefills.empty() ? 0 : prefill(shape.prefills);
  if (shape.decodes == 0) return before;
  const double decode = decode_form_seconds(shape);
  return before + (shape.prefills.empty() ? decode : decode * slowdown_);
}

/// Tokens that the decodes read.
double AttentionTime::context(const StepShape& shape) const {
  const auto held = static_cast<double>(shape.decode_context);
  if (window_ == 0) return held;
  if (shape.windowed_context > 0) return static_cast<double>(shape.windowed_context);
  return std::min(held, shape.decodes * window_);
}

/// Of one query on average. A tile of queries reads the windows of all of them: half a tile more
/// than the mean (median of aiconfigurator tables, windows of 128 and 1024: 1.0 of the measured
/// time on H100, 0.8 to 0.9 on L40S).
double AttentionTime::keys(const PrefillChunk& chunk) const {
  const double all = chunk.cached + chunk.tokens / 2.0;
  if (window_ == 0) return all;
  const double tokens = chunk.tokens;
  const double growing = std::clamp(window_ - chunk.cached, 0.0, tokens);
  const double slid = tokens - growing;
  const double read =
      growing * (chunk.cached + growing / 2) + slid * (window_ + kTileQueries / 2.0);
  return std::min(all, read / tokens);
}

/// Model: each chunk fills waves of its own.
double AttentionTime::prefill(std::span<const PrefillChunk> chunks) const {
  double out = 0;
  for (const PrefillChunk& chunk : chunks) {
    const std::int64_t tiles = q_heads_ * ceil_div(chunk.tokens, std::int64_t{kTileQueries});
    const auto waves = static_cast<double>(ceil_div(tiles, sm_count_));
    out += wave_seconds(prefill_form_, waves, keys(chunk));
  }
  return out + prefill_form_.fixed_us * 1e-6;
}

double AttentionTime::decode_form_seconds(const StepShape& shape) const {
  const double bytes = context(shape) * bytes_per_token_;
  return decode_seconds(decode_form_, shape.decodes, bytes, memory_rate_);
}

/// With a profile, the tiles of all chunks fill waves together, as one call of the kernel does.
double AttentionTime::measured_seconds(const StepShape& shape) const {
  double out = 0;
  double tokens = 0;
  if (!shape.prefills.empty()) {
    PrefillCall call(static_cast<double>(q_heads_));
    for (const PrefillChunk& chunk : shape.prefills) {
      // So many cached tokens mean these keys; fewer than none where a window cuts the chunk too.
      call.add(chunk.tokens, window_ == 0 ? chunk.cached : keys(chunk) - chunk.tokens / 2.0);
      tokens += chunk.tokens;
    }
    out = prefill_seconds(prefill_form_, call, static_cast<double>(sm_count_)) *
          prefill_ratio_.at({call.head_chunks(), call.tokens(), call.cached()});
  }
  if (shape.decodes == 0) return out;
  const double held = context(shape) / shape.decodes;
  const std::array logs = {RatioTable::log_of(kv_heads_ * shape.decodes), RatioTable::log_of(held),
                           RatioTable::log_of(tokens)};
  double ratio = decode_ratio_.log2_at(std::span(logs).first(2));
  double decode = decode_form_seconds(shape);
  if (!shape.prefills.empty()) {
    decode *= slowdown_;
    ratio += mixed_ratio_.log2_at(logs);
  }
  return out + (ratio == 0 ? decode : decode * det::exp2(ratio));
}

}  // namespace spillway
