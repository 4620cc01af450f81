// Routed experts of one layer of a mixture, on the ranks among which they are divided.
//
// Every rank gets the tokens of all engines that share the experts, reads the weights of each
// expert here that some token picked, and all wait for the busiest. A rank has some experts whole
// (expert parallelism), or a part of the width of each
// (vllm/model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig.make: without expert
// parallelism the width is divided over data times tensor parallelism).
//
// How many experts a batch picks: a trained gate prefers some. Each expert's share of the tokens is
// taken to come from a Beta distribution with the mean k / E and the first parameter kGateShape.
// Measured of Qwen3-30B-A3B, 110,640 calls of the gate: 47.6 of 128 experts at 8 tokens, 120.6 at
// 128, and 0.87 of what an even gate would pick between (casys-kaist/LLMServingSim,
// bench/core/gate_stats.py @ 00e9c3182a and its page on routing). The distribution gives 46.6,
// 120.5, and 0.84 to 0.88 between 16 and 64.
// Model: gates of other models prefer as much; padding picks like tokens, as its input is that of
// an earlier batch.
#pragma once

#include <vector>

#include "models/compute/kernel_forms.hpp"
#include "models/compute/ratio_grid.hpp"

namespace spillway {

inline constexpr double kGateShape = 1.5;

/// Of the experts of one layer.
class ExpertChoice {
 public:
  /// Precondition: at least one expert a token, and more in the layer.
  ExpertChoice(std::int32_t experts, std::int32_t per_token);

  /// Expected number that `tokens` tokens pick.
  double picked(std::uint64_t tokens);
  /// The same of the busiest of `ranks` ranks that have equal parts of the experts.
  double picked_on_busiest(std::uint64_t tokens, std::uint32_t ranks);
  /// How much more tokens than the mean the busiest of these ranks has.
  double most_rows(std::uint32_t ranks) const;

 private:
  double experts_;
  double per_token_;
  std::vector<double> missed_{1};  ///< by tokens: the probability that none picks an expert
};

class ExpertTime {
 public:
  /// By weights of `format`. Precondition: the model is a mixture.
  ExpertTime(const ComponentsCost& p, const WeightFormat& format);

  /// Of one layer, for the tokens of all engines that share the experts.
  double seconds(std::uint64_t tokens);

 private:
  void use_profile(const ComputeProfile& profile, bool fp8);

  ExpertChoice choice_;
  std::int32_t per_token_;
  std::uint32_t parts_;  ///< ranks that have experts of their own
  double hidden_;
  double width_;
  double weight_bytes_;
  PeakRates peaks_;
  ProductForm form_;
  RatioTable ratio_;
  std::vector<double> known_;  ///< by tokens; 0: not computed yet
};

}  // namespace spillway
