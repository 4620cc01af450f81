// What kernels of one GPU were measured to take, as parameters of the forms in components.cpp and
// as the ratios by which measurements differ from those forms.
//
// `spillway fit` writes one (a document of kind "compute-profile"); a scenario's compute of kind
// "profile" uses it. Forms carry to shapes that nobody measured, ratios put back what was.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/compute/step_cost.hpp"

namespace spillway {

/// Measured time over the form's, on a grid of up to four arguments; interpolated in the logarithms
/// of arguments and ratio, the edge holds beyond. Empty: 1 everywhere.
struct RatioGrid {
  std::vector<std::vector<double>> axes;  ///< ascending, positive (an argument of 0 counts as 1)
  std::vector<double> ratios;             ///< row-major, the last axis fastest

  bool empty() const { return ratios.empty(); }
};

/// One matrix shape (inputs x outputs) that was measured, over the rows multiplied with it.
struct ProductCurve {
  double inputs = 0;
  double outputs = 0;
  std::vector<double> rows;    ///< ascending
  std::vector<double> ratios;  ///< of measured time over the form's, one for each of `rows`
};

/// Matrix products with weights of one type: overhead + (compute^norm + memory^norm)^(1/norm).
struct ProductKernels {
  std::string dtype;  ///< of the weights: bf16, fp8
  double overhead_us = 0;
  double flop_efficiency = 0;  ///< of the data sheet's rate for that type
  double byte_efficiency = 0;
  double norm = 2;
  std::vector<ProductCurve> curves;  ///< shapes in between take their neighbours' ratios
};

/// Routed experts of a mixture with weights of one type, one layer on one rank.
struct ExpertKernels {
  std::string dtype;  ///< of the weights: bf16, fp8
  double overhead_us = 0;
  double flop_efficiency = 0;
  double byte_efficiency = 0;
  double norm = 2;
  RatioGrid ratios;  ///< over tokens x experts that each picks, activated experts
};

/// Attention over a KV cache of one type, heads of one width.
struct AttentionKernels {
  std::string kv_dtype;  ///< bf16, fp8
  std::uint32_t head_dim = 128;
  double prefill_us = 0;
  double prefill_key_ns = 0;
  double prefill_lead_keys = 0;
  double decode_us = 0;
  double decode_efficiency = 0;
  double decode_sequence_us = 0;
  double mixed_factor = 0;
  bool mixed_measured = false;  ///< else mixed_factor is another GPU's
  /// Over query heads x sequences, new tokens of one, cached tokens of one; apart for models whose
  /// query heads each have a KV head.
  RatioGrid prefill;
  RatioGrid prefill_mha;
  /// Over KV heads x sequences, tokens that one holds, KV heads.
  RatioGrid decode;
  RatioGrid decode_mha;
  /// Of what decodes add to a step that also prefills, over KV heads x decodes, tokens that one
  /// holds, tokens of prefill chunks.
  RatioGrid mixed;
};

/// What an engine's own times say of kernels that were measured apart from it: factors of their
/// times, 1 where nothing was fitted.
struct KernelScales {
  double compute = 1;      ///< of products where arithmetic bounds them
  double memory = 1;       ///< of products where reading weights does, and element-wise passes
  double attention = 1;    ///< of all attention
  double collectives = 1;  ///< of all-reduces among the ranks of a stage
};

/// One parameter of a fit, for reports.
struct FittedParameter {
  double value = 0;
  double low = 0;  ///< 95% interval; both equal to value where it was not fitted
  double high = 0;
  bool on_bound = false;  ///< the data asked for more than is possible
  /// The data say more of it than was believed before: its interval is narrower than half of that
  /// of the prior. Always where there is no prior.
  bool identified = true;
};

/// What the steps behind a fit held, least to most; where most is 0, none did.
struct FittedRange {
  struct Span {
    double least = 0;
    double most = 0;
    bool known() const { return most > 0; }
    void add(double value);
    bool holds(double value) const;
  };
  Span decodes;         ///< of a step with any
  Span context;         ///< tokens that one decode holds, on average over the step
  Span prefill_tokens;  ///< new tokens of prompts in a step with any

  bool known() const { return decodes.known() || prefill_tokens.known(); }
  void add(const StepShape& shape);
  bool holds(const StepShape& shape) const;
};

/// How well one part of a profile predicts what it was and was not shown.
struct FitScore {
  std::string part;  ///< products/bf16, attention/bf16/128/prefill, steps, ...
  std::map<std::string, FittedParameter> parameters;
  std::uint32_t points = 0;
  std::uint32_t held_out = 0;
  double mape = 0;           ///< % over what was fitted, form and ratios
  double form_mape = 0;      ///< % of the form alone; equal to mape where there are no ratios
  double held_out_mape = 0;  ///< % over what a second fit did not see; 0 where nothing was held out
  double held_out_p95 = 0;
  double bias = 0;  ///< mean signed error, %, of what was fitted
};

struct ComputeProfile {
  std::string name;
  std::string gpu;                    ///< catalogue name
  std::string model;                  ///< whose kernels were measured; empty: many shapes
  std::string created;                ///< ISO 8601, UTC
  std::string source;                 ///< of the data, for people: files, their origin and licence
  std::uint32_t tensor_parallel = 1;  ///< that a whole-layer table was measured at
  std::vector<ProductKernels> products;
  std::vector<AttentionKernels> attention;
  std::vector<ExpertKernels> experts;
  double elementwise_us = kElementwiseKernelUs;  ///< of a kernel of few tokens
  double elementwise_efficiency = 1;             ///< of the memory's peak rate
  RatioGrid elementwise;  ///< over tokens: norms, rotary, activation of a layer
  double host_overhead_us = kDefaultHostOverheadUs;  ///< per step that replays a captured graph
  double eager_overhead_us = 0;                      ///< more, per step that does not
  bool overhead_fitted = false;                      ///< else the default
  double sequence_us = kDefaultSequenceUs;
  double sampler_us = 0;  ///< per step that samples
  KernelScales scales;
  FittedRange range;  ///< of the engine's steps that were fitted; unknown: of kernels alone
  std::vector<FitScore> scores;
  std::vector<std::string> warnings;
};

}  // namespace spillway
