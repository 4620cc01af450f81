// Kernel efficiencies from measured matrix products and attention calls, in the forms that
// models/compute/kernel_forms.hpp holds. Parameters stay within what is physically possible; one
// that ends on a bound is a warning. The pieces trade off against each other, so judge a fit by its
// errors, not by its parameters.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/profile.hpp"
#include "models/compute/kernel_forms.hpp"

namespace spillway {

/// All of one type (and so of one peak). Held out: every third width n. Params: gemm_overhead_us,
/// flop_efficiency, byte_efficiency, gemm_norm.
FitRecord fit_gemm(const std::vector<GemmCell>& cells, const PeakRates& peaks,
                   std::vector<std::string>& warnings);

/// All of one head size. Held out: every third prompt or context length. Params: prefill_us,
/// prefill_key_ns, prefill_lead_keys.
FitRecord fit_prefill(const std::vector<AttentionCell>& cells, const PeakRates& peaks,
                      std::vector<std::string>& warnings);
/// Params: decode_us, decode_efficiency, decode_sequence_us.
FitRecord fit_decode(const std::vector<AttentionCell>& cells, const PeakRates& peaks,
                     std::vector<std::string>& warnings);

}  // namespace spillway
