// The members of a compute profile's rows, by name (config/fields.hpp). A new member is a line here
// and a property in scenarios/schema/compute-profile.schema.json.
#pragma once

#include <array>

#include "models/compute/compute_profile.hpp"
#include "sim/fields.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"

namespace spillway {

// Far beyond any kernel, and what keeps a step within 63 bits of nanoseconds.
inline constexpr FieldRule kKernelTime = {.most = 1e6};
inline constexpr FieldRule kHostTime = {.least = -kMostHostSavingUs, .most = 1e6};
inline constexpr FieldRule kShareRule = {.required = true, .least = 1e-6, .most = 1};
inline constexpr FieldRule kRatio = {.required = true, .least = 1e-3, .most = 1e3};
inline constexpr FieldRule kWidthRule = {.required = true, .least = 1, .most = 1e9};
inline constexpr FieldRule kAnySign = {.least = -1e18};
inline constexpr std::array<std::string_view, 2> kTypes = {"bf16", "fp8"};
inline constexpr FieldRule kType = {.required = true, .choices = kTypes};

template <>
struct Fields<RatioGrid> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("axes", r.axes, FieldRule{.required = true, .least = 1e-9, .most = 1e12});
    f("ratios", r.ratios, kRatio);
  }
  static bool absent(const RatioGrid& grid) { return grid.empty(); }
  static void check(const ObjectReader& in, const RatioGrid& grid);
};

template <>
struct Fields<ProductCurve> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("inputs", r.inputs, kWidthRule);
    f("outputs", r.outputs, kWidthRule);
    f("rows", r.rows, kWidthRule);
    f("ratios", r.ratios, kRatio);
  }
  static void check(const ObjectReader& in, const ProductCurve& curve);
};

template <>
struct Fields<ProductKernels> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("dtype", r.dtype, kType);
    f("overhead_us", r.overhead_us, kKernelTime);
    f("flop_efficiency", r.flop_efficiency, kShareRule);
    f("byte_efficiency", r.byte_efficiency, kShareRule);
    f("norm", r.norm, FieldRule{.least = 0.1, .most = 100});
    f("curves", r.curves, FieldRule{});
  }
};

template <>
struct Fields<AttentionKernels> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kv_dtype", r.kv_dtype, kType);
    f("head_dim", r.head_dim, kCountRule);
    f("prefill_us", r.prefill_us, kKernelTime);
    f("prefill_key_ns", r.prefill_key_ns, kKernelTime);
    f("prefill_lead_keys", r.prefill_lead_keys, kKernelTime);
    f("decode_us", r.decode_us, kKernelTime);
    f("decode_efficiency", r.decode_efficiency, kShareRule);
    f("decode_sequence_us", r.decode_sequence_us, kKernelTime);
    f("mixed_factor", r.mixed_factor, FieldRule{.most = 1e3});
    f("mixed_measured", r.mixed_measured, FieldRule{});
    f("prefill", r.prefill, FieldRule{});
    f("prefill_mha", r.prefill_mha, FieldRule{});
    f("decode", r.decode, FieldRule{});
    f("decode_mha", r.decode_mha, FieldRule{});
    f("mixed", r.mixed, FieldRule{});
  }
  static void check(const ObjectReader& in, const AttentionKernels& kernels);
};

template <>
struct Fields<FittedParameter> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("value", r.value, FieldRule{.required = true, .least = -1e18});
    f("low", r.low, kAnySign);
    f("high", r.high, kAnySign);
    f("on_bound", r.on_bound, FieldRule{});
  }
};

template <>
struct Fields<FitScore> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("part", r.part, kNeeded);
    f("parameters", r.parameters, FieldRule{});
    f("points", r.points, FieldRule{});
    f("held_out", r.held_out, FieldRule{});
    f("mape", r.mape, FieldRule{});
    f("form_mape", r.form_mape, FieldRule{});
    f("held_out_mape", r.held_out_mape, FieldRule{});
    f("held_out_p95", r.held_out_p95, FieldRule{});
    f("bias", r.bias, kAnySign);
  }
};

template <>
struct Fields<ComputeProfile> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, FieldRule{});
    f("gpu", r.gpu, kNeeded);
    f("model", r.model, FieldRule{});
    f("created", r.created, FieldRule{});
    f("source", r.source, FieldRule{});
    f("tensor_parallel", r.tensor_parallel, FieldRule{.least = 1});
    f("products", r.products, FieldRule{});
    f("attention", r.attention, FieldRule{});
    f("elementwise_passes", r.elementwise_passes, FieldRule{.most = 1e4});
    f("elementwise", r.elementwise, FieldRule{});
    f("host_overhead_us", r.host_overhead_us, kHostTime);
    f("eager_overhead_us", r.eager_overhead_us, kKernelTime);
    f("overhead_fitted", r.overhead_fitted, FieldRule{});
    f("sequence_us", r.sequence_us, kKernelTime);
    f("sampler_us", r.sampler_us, kKernelTime);
    f("scores", r.scores, FieldRule{});
  }
  static void check(const ObjectReader& in, const ComputeProfile& profile);
};

}  // namespace spillway
