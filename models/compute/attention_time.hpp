// Attention of one layer on one rank.
//
// Prefill runs in waves of 64-query tiles over the SMs, each wave linear in the keys it reads, so
// that a short suffix on a long cached prefix costs what it costs. Decode reads its KV at a share
// of peak bandwidth, and slower beside prefill. A layer of sliding attention reads a window of it.
#pragma once

#include "models/compute/kernel_forms.hpp"
#include "models/compute/ratio_grid.hpp"

namespace spillway {

class AttentionTime {
 public:
  /// `window`: tokens that a layer of sliding attention reads, the current one included; 0: all.
  explicit AttentionTime(const ComponentsCost& p, std::uint32_t window = 0);

  double seconds(const StepShape& shape) const;

 private:
  double context(const StepShape& shape) const;
  double keys(const PrefillChunk& chunk) const;
  double form_seconds(const StepShape& shape) const;
  double prefill(std::span<const PrefillChunk> chunks) const;
  double decode_form_seconds(const StepShape& shape) const;
  double measured_seconds(const StepShape& shape) const;

  std::int64_t q_heads_;
  double kv_heads_;
  std::int64_t sm_count_;
  double memory_rate_;
  double bytes_per_token_;  ///< of one layer's KV
  double window_;           ///< 0: none
  PrefillForm prefill_form_;
  DecodeForm decode_form_;
  double slowdown_;  ///< of decodes beside a prefill
  double scale_ = 1;
  bool measured_ = false;
  RatioTable prefill_ratio_;  ///< over heads x chunks, tokens, cached
  RatioTable decode_ratio_;   ///< over heads x sequences, tokens held
  RatioTable mixed_ratio_;    ///< over heads x decodes, tokens held, tokens of chunks
};

}  // namespace spillway
