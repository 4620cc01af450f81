// The members of a compute profile, by name: writing, reading, its schema and tests walk these
// tables. A new member is a line here. The forms are those of models/compute/kernel_forms.hpp.
#pragma once

#include <array>
#include <string_view>

#include "models/compute/compute_profile.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"
#include "sim/fields.hpp"

namespace spillway {

class ObjectReader;

inline constexpr std::array<std::string_view, 2> kKernelTypes = {"bf16", "fp8"};

/// Far beyond any kernel, and what keeps a step within 63 bits of nanoseconds.
inline constexpr double kMostKernelTime = 1e6;
constexpr FieldRule time_rule(std::string_view help) {
  return may_say(help, 0, kMostKernelTime);
}
constexpr FieldRule efficiency_rule(std::string_view help) {
  return says(help, 1e-6, 1);
}
constexpr FieldRule width_rule(std::string_view help) {
  return says(help, 1, 1e9);
}
constexpr FieldRule ratio_rule(std::string_view help) {
  return says(help, 1e-3, 1e3);
}

template <>
struct Fields<RatioGrid> {
  static constexpr std::string_view kName = "grid";
  static constexpr std::string_view kHelp =
      "Measured time divided by the form's, interpolated in logarithms of arguments and ratio.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("axes", r.axes,
      says("Ascending arguments of each axis; an argument of 0 counts as 1.", 1e-9, 1e12));
    f("ratios", r.ratios,
      ratio_rule("One for each crossing, the last axis fastest; the edge holds beyond it."));
  }
  static bool absent(const RatioGrid& grid) { return grid.empty(); }
  static void check(const ObjectReader& in, const RatioGrid& grid);
};

template <>
struct Fields<ProductCurve> {
  static constexpr std::string_view kName = "curve";
  static constexpr std::string_view kHelp = "One matrix shape over the rows multiplied with it.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("inputs", r.inputs, width_rule("Inputs of the matrix."));
    f("outputs", r.outputs, width_rule("Outputs of the matrix."));
    f("rows", r.rows, width_rule("Ascending numbers of rows."));
    f("ratios", r.ratios, ratio_rule("Measured time divided by the form's, for each of rows."));
  }
  static void check(const ObjectReader& in, const ProductCurve& curve);
};

template <>
struct Fields<ProductKernels> {
  static constexpr std::string_view kName = "products";
  static constexpr std::string_view kHelp =
      "Products with weights of one type: overhead + (compute^norm + memory^norm)^(1/norm).";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dtype", r.dtype, one_of(kKernelTypes, "Type of the weights."));
    f("overhead_us", r.overhead_us, time_rule("Fixed part of a product."));
    f("flop_efficiency", r.flop_efficiency,
      efficiency_rule("Share of the data sheet's compute rate for that type."));
    f("byte_efficiency", r.byte_efficiency,
      efficiency_rule("Share of the data sheet's memory rate."));
    f("norm", r.norm, may_say("Exponent that joins compute and memory time.", 0.1, 100));
    f("curves", r.curves,
      may_say("Measured shapes; the shapes between them take their neighbours' ratios."));
  }
};

template <>
struct Fields<ExpertKernels> {
  static constexpr std::string_view kName = "experts";
  static constexpr std::string_view kHelp =
      "Routed experts of one layer, with weights of one type; the form is that of products.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dtype", r.dtype, one_of(kKernelTypes, "Type of the weights."));
    f("overhead_us", r.overhead_us, time_rule("Gate, choice, sorting and sum of a layer."));
    f("flop_efficiency", r.flop_efficiency,
      efficiency_rule("Share of the data sheet's compute rate for that type."));
    f("byte_efficiency", r.byte_efficiency,
      efficiency_rule("Share of the data sheet's memory rate."));
    f("norm", r.norm, may_say("Exponent that joins compute and memory time.", 0.1, 100));
    f("ratios", r.ratios, may_say("Over tokens x experts that each picks, and activated experts."));
  }
  static void check(const ObjectReader& in, const ExpertKernels& kernels);
};

template <>
struct Fields<AttentionKernels> {
  static constexpr std::string_view kName = "attention";
  static constexpr std::string_view kHelp =
      "Attention over a KV cache of one type, with heads of one width.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kv_dtype", r.kv_dtype, one_of(kKernelTypes, "Type of the KV cache."));
    f("head_dim", r.head_dim, says("Width of a head.", 1));
    f("prefill_us", r.prefill_us, time_rule("Fixed part of a prefill call."));
    f("prefill_key_ns", r.prefill_key_ns,
      time_rule("Time per key and wave; a wave is 64 queries of one head on each SM."));
    f("prefill_lead_keys", r.prefill_lead_keys,
      time_rule("Start-up of a wave, as a number of keys."));
    f("decode_us", r.decode_us, time_rule("Fixed part of a decode call."));
    f("decode_efficiency", r.decode_efficiency,
      efficiency_rule("Share of the data sheet's memory rate."));
    f("decode_sequence_us", r.decode_sequence_us, time_rule("Time per sequence of a decode."));
    f("mixed_factor", r.mixed_factor,
      may_say("Decodes next to a prefill take this times query heads per KV head, at least 1, as "
              "long.",
              0, 1e3));
    f("mixed_measured", r.mixed_measured,
      may_say("Whether mixed_factor was measured; otherwise it is another GPU's."));
    f("prefill", r.prefill,
      may_say("Over query heads x sequences, new tokens of one, cached tokens of one."));
    f("prefill_mha", r.prefill_mha,
      may_say("prefill of models with as many KV heads as query heads."));
    f("decode", r.decode,
      may_say("Over KV heads x sequences, tokens that one holds, and KV heads."));
    f("decode_mha", r.decode_mha,
      may_say("decode of models with as many KV heads as query heads."));
    f("mixed", r.mixed,
      may_say("Decodes next to a prefill: KV heads x decodes, tokens that one holds, prefill "
              "tokens."));
  }
  static void check(const ObjectReader& in, const AttentionKernels& kernels);
};

template <>
struct Fields<KernelScales> {
  static constexpr std::string_view kName = "scales";
  static constexpr std::string_view kHelp = "What an engine's times say of the kernels.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    const auto scale = [](std::string_view help) { return may_say(help, 1e-3, 1e3); };
    f("compute", r.compute, scale("Factor of the compute time of products."));
    f("memory", r.memory, scale("Factor of memory time of products and element-wise passes."));
    f("attention", r.attention, scale("Factor of the time of attention."));
    f("collectives", r.collectives, scale("Factor of the time of all-reduces."));
  }
  static bool absent(const KernelScales& r) {
    return r.compute == 1 && r.memory == 1 && r.attention == 1 && r.collectives == 1;
  }
};

template <>
struct Fields<FittedRange::Span> {
  static constexpr std::string_view kName = "span";
  static constexpr std::string_view kHelp = "The least and the most; both 0 for none.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("least", r.least, may_say("Smallest value in the data."));
    f("most", r.most, may_say("Largest value in the data."));
  }
};

template <>
struct Fields<FittedRange> {
  static constexpr std::string_view kName = "range";
  static constexpr std::string_view kHelp = "What the steps behind a fit held.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("decodes", r.decodes, may_say("Decodes of a step."));
    f("context", r.context, may_say("Tokens that one decode holds, on average over a step."));
    f("prefill_tokens", r.prefill_tokens, may_say("New tokens of prompts in a step."));
  }
  static bool absent(const FittedRange& range) { return !range.known(); }
};

template <>
struct Fields<FittedParameter> {
  static constexpr std::string_view kName = "parameter";
  static constexpr std::string_view kHelp = "One parameter of a fit.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("value", r.value, signed_figure("Fitted value."));
    f("low", r.low,
      may_say("Start of the 95% interval; equal to high if not fitted or on a bound.", -kNoLimit));
    f("high", r.high, may_say("End of the 95% interval.", -kNoLimit));
    f("on_bound", r.on_bound, may_say("Whether the data asked for more than is possible."));
    f("identified", r.identified,
      may_say("Whether the interval is narrower than half of the prior's."));
  }
};

template <>
struct Fields<FitScore> {
  static constexpr std::string_view kName = "score";
  static constexpr std::string_view kHelp = "How well a part of a profile predicts, in percent.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("part", r.part, says("The part, e.g. products/bf16 or attention/bf16/128/prefill."));
    f("parameters", r.parameters, may_say("Parameters of its form, by name."));
    f("points", r.points, may_say("Points that were fitted."));
    f("held_out", r.held_out, may_say("Points that a second fit did not see."));
    f("mape", r.mape, may_say("Mean absolute error over fitted points, with ratios."));
    f("form_mape", r.form_mape,
      may_say("The same of the form alone; equal to mape without ratios."));
    f("held_out_mape", r.held_out_mape,
      may_say("Mean absolute error over held-out points; 0 without any."));
    f("held_out_p95", r.held_out_p95,
      may_say("95th percentile of the absolute error over held-out points."));
    f("bias", r.bias, may_say("Mean signed error over fitted points.", -kNoLimit));
  }
};

template <>
struct Fields<ComputeProfile> {
  static constexpr std::string_view kName = "results";
  static constexpr std::string_view kHelp = "What kernels of one GPU were measured to take.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, may_say("Name of the profile."));
    f("gpu", r.gpu, says("The GPU, as `spillway list gpus` names it."));
    f("model", r.model, may_say("Model whose kernels were measured; empty for many shapes."));
    f("created", r.created, may_say("When the fit was made, ISO 8601 in UTC."));
    f("source", r.source, may_say("Files of the data, their origin and licence."));
    f("tensor_parallel", r.tensor_parallel,
      may_say("Ranks at which a table of whole layers was measured.", 1));
    f("products", r.products, may_say("Matrix products, by type of the weights."));
    f("attention", r.attention, may_say("Attention, by type of the KV cache and width of heads."));
    f("experts", r.experts, may_say("Routed experts of a mixture, by type of the weights."));
    f("elementwise_us", r.elementwise_us,
      time_rule("Time of a kernel of few tokens between products."));
    f("elementwise_efficiency", r.elementwise_efficiency,
      may_say("Share of the memory's peak rate between products; above 1 from the cache.", 1e-3,
              100));
    f("elementwise", r.elementwise,
      may_say("Norms, rotary embedding and activation of a layer, over tokens."));
    f("host_overhead_us", r.host_overhead_us,
      may_say("Host time of a step with a captured graph; below 0 if compiled kernels save more.",
              -kMostHostSavingUs, kMostKernelTime));
    f("eager_overhead_us", r.eager_overhead_us,
      time_rule("Additional host time of a step without a captured graph."));
    f("overhead_fitted", r.overhead_fitted,
      may_say("Whether host_overhead_us was fitted; otherwise it is the default."));
    f("sequence_us", r.sequence_us, time_rule("Time of each sequence that samples."));
    f("sampler_us", r.sampler_us, time_rule("Time of each step that samples."));
    f("scales", r.scales, may_say("Factors that an engine's own times put on the kernels."));
    f("range", r.range, may_say("What the fitted steps of an engine held."));
    f("scores", r.scores, may_say("How well each part of the profile predicts."));
  }
  static void check(const ObjectReader& in, const ComputeProfile& profile);
};

}  // namespace spillway
