// Kernel times as a compute profile has them, for rows of kernel tables: the form, and the form by
// its ratio, exactly as step costs compute them (models/compute/kernel_forms.hpp).
#pragma once

#include <map>
#include <utility>

#include "models/calibration/kernel_tables.hpp"
#include "models/compute/kernel_forms.hpp"
#include "models/compute/ratio_grid.hpp"

namespace spillway {

inline double weight_bytes_of(std::string_view dtype) {
  return dtype == "fp8" ? 1 : 2;
}

class ProductPredictor {
 public:
  /// `kernels` outlives the predictor.
  ProductPredictor(const ProductKernels& kernels, const GpuSpec& gpu);

  double form_us(const ProductRow& row) const;
  double us(const ProductRow& row);

 private:
  const ProductKernels* kernels_;
  ProductForm form_;
  PeakRates peaks_;
  double weight_bytes_;
  std::map<std::pair<double, double>, ProductRatio> ratios_;  ///< by inputs and outputs
};

class ExpertPredictor {
 public:
  ExpertPredictor(const ExpertKernels& kernels, const GpuSpec& gpu);

  double form_us(const ExpertRow& row) const;
  double us(const ExpertRow& row) const;

 private:
  ProductForm form_;
  PeakRates peaks_;
  double weight_bytes_;
  RatioTable ratio_;
};

class AttentionPredictor {
 public:
  AttentionPredictor(const AttentionKernels& kernels, const GpuSpec& gpu);

  double form_us(const PrefillRow& row) const;
  double form_us(const DecodeRow& row) const;
  double form_us(const MixedRow& row) const;
  double us(const PrefillRow& row) const;
  double us(const DecodeRow& row) const;
  double us(const MixedRow& row) const;
  /// What the decodes of a mixed call add by the form and the ratios of pure calls.
  double mixed_decode_us(const MixedRow& row) const;

 private:
  PrefillForm prefill_form_;
  DecodeForm decode_form_;
  double mixed_factor_;
  double sm_count_;
  double memory_rate_;
  double token_bytes_;  ///< of keys and values of one KV head
  RatioTable prefill_;
  RatioTable prefill_mha_;
  RatioTable decode_;
  RatioTable decode_mha_;
  RatioTable mixed_;
};

/// The pure parts of a mixed call.
inline PrefillRow prefill_part(const MixedRow& row) {
  return {1, row.tokens, row.cached, row.q_heads, row.kv_heads, row.us, row.from};
}
inline DecodeRow decode_part(const MixedRow& row) {
  return {row.decodes, row.held, row.q_heads, row.kv_heads, row.us, row.from};
}

}  // namespace spillway
