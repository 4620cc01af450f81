#include "models/calibration/kernel_predictor.hpp"

namespace spillway {

namespace {

PrefillCall call_of(const PrefillRow& row) {
  PrefillCall call(row.q_heads);
  call.add(row.tokens, row.cached, row.chunks);
  return call;
}

template <class Row>
bool one_to_one(const Row& row) {
  return row.q_heads == row.kv_heads;
}

/// A grid of its own for heads one to one; where a profile has only one of the two, that.
const RatioTable& choose(const RatioTable& gqa, const RatioTable& mha, bool one_to_one) {
  const RatioTable& first = one_to_one ? mha : gqa;
  return first.empty() ? (one_to_one ? gqa : mha) : first;
}

}  // namespace

ProductPredictor::ProductPredictor(const ProductKernels& kernels, const GpuSpec& gpu)
    : kernels_(&kernels),
      form_(form_of(kernels)),
      peaks_(product_peaks(gpu, kernels.dtype == "fp8")),
      weight_bytes_(weight_bytes_of(kernels.dtype)) {}

double ProductPredictor::form_us(const ProductRow& row) const {
  return product_seconds(form_, {row.rows, row.inputs, row.outputs}, peaks_, weight_bytes_) * 1e6;
}

double ProductPredictor::us(const ProductRow& row) {
  const auto [at, added] = ratios_.try_emplace({row.inputs, row.outputs});
  if (added) at->second = ProductRatio(kernels_->curves, row.inputs, row.outputs);
  return form_us(row) * at->second.at(row.rows);
}

ExpertPredictor::ExpertPredictor(const ExpertKernels& kernels, const GpuSpec& gpu)
    : form_(form_of(kernels)),
      peaks_(product_peaks(gpu, kernels.dtype == "fp8")),
      weight_bytes_(weight_bytes_of(kernels.dtype)),
      ratio_(kernels.ratios) {}

double ExpertPredictor::form_us(const ExpertRow& row) const {
  const ExpertShape shape = {row.rows, row.activated, row.hidden, row.width};
  return experts_seconds(form_, shape, peaks_, weight_bytes_) * 1e6;
}

double ExpertPredictor::us(const ExpertRow& row) const {
  return form_us(row) * (ratio_.empty() ? 1 : ratio_.at({row.rows, row.activated}));
}

AttentionPredictor::AttentionPredictor(const AttentionKernels& k, const GpuSpec& gpu)
    : prefill_form_(prefill_form(k)),
      decode_form_(decode_form(k)),
      mixed_factor_(k.mixed_factor),
      sm_count_(gpu.sm_count),
      memory_rate_(gpu.memory_gbs * 1e9),
      token_bytes_(2 * k.head_dim * weight_bytes_of(k.kv_dtype)),
      prefill_(k.prefill),
      prefill_mha_(k.prefill_mha),
      decode_(k.decode),
      decode_mha_(k.decode_mha),
      mixed_(k.mixed) {}

double AttentionPredictor::form_us(const PrefillRow& row) const {
  return prefill_seconds(prefill_form_, call_of(row), sm_count_) * 1e6;
}

double AttentionPredictor::form_us(const DecodeRow& row) const {
  const double bytes = row.sequences * row.held * row.kv_heads * token_bytes_;
  return decode_seconds(decode_form_, row.sequences, bytes, memory_rate_) * 1e6;
}

double AttentionPredictor::form_us(const MixedRow& row) const {
  return form_us(prefill_part(row)) +
         form_us(decode_part(row)) * mixed_slowdown(mixed_factor_, row.q_heads / row.kv_heads);
}

double AttentionPredictor::us(const PrefillRow& row) const {
  const PrefillCall call = call_of(row);
  const RatioTable& ratio = choose(prefill_, prefill_mha_, one_to_one(row));
  return form_us(row) * ratio.at({call.head_chunks(), call.tokens(), call.cached()});
}

double AttentionPredictor::us(const DecodeRow& row) const {
  const RatioTable& ratio = choose(decode_, decode_mha_, one_to_one(row));
  return form_us(row) * ratio.at({row.kv_heads * row.sequences, row.held, row.kv_heads});
}

double AttentionPredictor::mixed_decode_us(const MixedRow& row) const {
  return us(decode_part(row)) * mixed_slowdown(mixed_factor_, row.q_heads / row.kv_heads);
}

double AttentionPredictor::us(const MixedRow& row) const {
  const double ratio = mixed_.at({row.kv_heads * row.decodes, row.held, row.tokens});
  return us(prefill_part(row)) + mixed_decode_us(row) * ratio;
}

}  // namespace spillway
