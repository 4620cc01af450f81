#include "scenarios/fidelity/fit/step_model.hpp"

#include <algorithm>
#include <array>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/weights.hpp"
#include "models/compute/kernel_choice.hpp"
#include "models/compute/kernel_forms.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

struct Row {
  std::string_view name;
  double low;
  double high;
  double prior;  ///< standard deviation
};

// Efficiencies of measured GPUs lie within 0.64-1.0 (products by rate), 0.76-0.90 (by bytes) and
// 0.67-0.84 (decode attention); overheads per step of vLLM within 0.5 and 3 ms of what a graph
// replays, and an eager step of a large model adds up to about 10 ms.
//
// Scales of kernels that tables know: two tables of one GPU, A100, by two tools and versions
// (microsoft/vidur @ 7d47513363ec mlp.csv of two Llama models over ai-dynamo/aiconfigurator @
// 095f58a51c4c): the medians of products of up to 64 rows are 0.92 to 1.04 times each other, those
// from 512 rows on 1.05 to 1.24 times; root mean squares of their logarithms are 0.056 and 0.158.
// Cards of one name alone differ by 8% on average (Sinha et al., SC22). Decode attention: as the
// measured GPUs among each other, 0.10 of 0.77. Collectives: small ones scatter by up to 34% in
// the tables of collective.cpp.
constexpr std::array<Row, 9> kRows = {{
    {"flop_efficiency", 0.2, 1.0, 0.15},
    {"byte_efficiency", 0.3, 1.0, 0.08},
    {"decode_efficiency", 0.2, 1.0, 0.10},
    {"compute_scale", 0.5, 2.0, 0.16},
    {"memory_scale", 0.5, 2.0, 0.06},
    {"attention_scale", 0.5, 2.0, 0.13},
    {"collective_scale", 0.2, 5.0, 0.34},
    {"host_overhead_us", 0.0, 20'000, 2'000},
    {"eager_overhead_us", 0.0, 50'000, 3'000},
}};

// Mean errors of steps that a profile did not see (models/calibration, held-out errors): 2.3% (root
// mean square over prefill, decode and mixed steps of the one model whose layers were measured),
// and 3.9% of models that were not among the shapes (three GPUs). A normal error's standard
// deviation is 1.25 times its mean size.
constexpr double kTablesFormError = 0.029;
constexpr double kFormError = 0.049;

double& field(ComponentsCost& cost, KernelScales& scales, StepParameter which) {
  switch (which) {
    case StepParameter::kFlopEfficiency:
      return cost.kernels.flop_efficiency;
    case StepParameter::kByteEfficiency:
      return cost.kernels.byte_efficiency;
    case StepParameter::kDecodeEfficiency:
      return cost.kernels.decode_efficiency;
    case StepParameter::kComputeScale:
      return scales.compute;
    case StepParameter::kMemoryScale:
      return scales.memory;
    case StepParameter::kAttentionScale:
      return scales.attention;
    case StepParameter::kCollectiveScale:
      return scales.collectives;
    case StepParameter::kHostOverhead:
      return cost.host_overhead_us;
    case StepParameter::kEagerOverhead:
      break;
  }
  return cost.eager_overhead_us;
}

[[noreturn]] void refuse(const Scenario& s, const std::string& message) {
  throw InputError(Fault::kUsage, {s.path, 0, {}}, message);
}

/// Efficiencies of a GPU that nobody measured.
KernelCoefficients generic(const GpuSpec& gpu) {
  GpuSpec unnamed = gpu;
  unnamed.name = {};
  return kernel_coefficients(unnamed).kernels;
}

/// What a scenario with that profile would take: the fit and its use have one form.
class ProfiledCost final : public StepCost {
 public:
  ProfiledCost(ComponentsCost parameters, ComputeProfile profile) : profile_(std::move(profile)) {
    parameters.profile = &profile_;
    cost_ = make_components_cost(parameters);
  }
  Duration step_time(const StepShape& shape) override { return cost_->step_time(shape); }
  Duration group_time(std::span<const StepShape> shapes) override {
    return cost_->group_time(shapes);
  }
  Duration collective_time(const StepShape& shape, std::span<const StepShape> group) override {
    return cost_->collective_time(shape, group);
  }
  std::uint32_t window() const override { return cost_->window(); }

 private:
  ComputeProfile profile_;
  std::unique_ptr<StepCost> cost_;
};

}  // namespace

std::vector<StepParameter> varied_parameters(bool kernels_known, std::uint32_t ranks,
                                             const StepKinds& steps) {
  using enum StepParameter;
  // Of a kind that hardly occurs nothing can be told.
  constexpr std::size_t kFewSteps = 10;
  std::vector<StepParameter> out = {kFlopEfficiency, kByteEfficiency, kDecodeEfficiency};
  if (kernels_known) out = {kComputeScale, kMemoryScale, kAttentionScale};
  if (ranks > 1) out.push_back(kCollectiveScale);
  out.push_back(kHostOverhead);
  if (steps.replayed >= kFewSteps && steps.eager >= kFewSteps) out.push_back(kEagerOverhead);
  return out;
}

StepModel::StepModel(const Scenario& s, std::vector<StepParameter> varied,
                     const ComputeProfile* kernels)
    : varied_(std::move(varied)), kernels_(kernels) {
  form_error_ = kernels != nullptr ? kTablesFormError : kFormError;
  if (s.model->spec == nullptr || s.gpu == nullptr) {
    refuse(s,
           "a fit of step times needs the shape of a model and the data sheet of a GPU; "
           "expected \"model\" and \"gpu\" by name");
  }
  const bool together = s.lockstep() && s.fleet->replicas == 1;
  if (s.engine.pipeline_parallel > 1 || (s.engines() > 1 && !together)) {
    refuse(s,
           "steps of several stages or engines overlap, so that a log does not tell their "
           "times; expected pipeline_parallel_size, data_parallel_size and fleet.replicas of 1, or "
           "data-parallel engines of a mixture of experts, which step together");
  }
  base_.model = s.model->spec;
  base_.gpu = s.gpu;
  base_.kernels = generic(*s.gpu);
  base_.host_overhead_us = kernels != nullptr ? kernels->host_overhead_us : kDefaultHostOverheadUs;
  base_.eager_overhead_us = kernels != nullptr ? kernels->eager_overhead_us : 0;
  base_.sequence_us = kernels != nullptr ? kernels->sequence_us : s.compute->sequence_us;
  base_.launch_us = s.compute->launch_us;
  if (kernels != nullptr) scales_ = kernels->scales;
  base_.graph_tokens = s.compute->graph_tokens;
  if (s.model->weights) base_.weights = s.model->weights->format;
  base_.kv_bits = bits_of(s.model->kv_dtype);
  base_.shards = s.shards();
  base_.collectives = s.collectives_of_ranks();
  base_.exchange = s.collectives_of_engines();
  for (const StepParameter which : varied_) {
    const Row& row = kRows[static_cast<std::size_t>(which)];
    const double start = std::clamp(field(base_, scales_, which), row.low, row.high);
    parameters_.push_back({row.name, start, row.low, row.high});
    priors_.push_back(row.prior);
  }
}

ComponentsCost StepModel::with(std::span<const double> values, KernelScales& scales) const {
  KV_ASSERT(values.size() == varied_.size(), "{} values", values.size());
  ComponentsCost out = base_;
  scales = scales_;
  for (std::size_t i = 0; i < varied_.size(); ++i) field(out, scales, varied_[i]) = values[i];
  return out;
}

std::unique_ptr<StepCost> StepModel::cost(std::span<const double> values) const {
  KernelScales in_profile;
  return std::make_unique<ProfiledCost>(with(values, in_profile), profile(values));
}

ComputeProfile StepModel::profile(std::span<const double> values) const {
  KernelScales scales;
  const ComponentsCost cost = with(values, scales);
  ComputeProfile out;
  if (kernels_ != nullptr) out = *kernels_;
  out.scales = scales;
  out.gpu = cost.gpu->name;
  out.host_overhead_us = cost.host_overhead_us;
  out.eager_overhead_us = cost.eager_overhead_us;
  out.overhead_fitted = true;
  out.sequence_us = cost.sequence_us;
  if (kernels_ != nullptr) return out;
  const KernelCoefficients& k = cost.kernels;
  out.model = cost.model->name;
  out.tensor_parallel = cost.shards.tensor;
  const bool fp8 = product_units(*cost.gpu, weight_format(cost), cost.model->is_moe()).fp8;
  out.products.push_back(product_kernels(k, fp8 ? "fp8" : "bf16"));
  AttentionKernels attention = attention_kernels(k, cost.kv_bits == 8 ? "fp8" : "bf16");
  if (cost.model->head_dim > 0) {
    // The coefficients are those of heads of its usual width.
    attention.prefill_key_ns *= double(cost.model->head_dim) / attention.head_dim;
    attention.head_dim = static_cast<std::uint32_t>(cost.model->head_dim);
  }
  out.attention.push_back(attention);
  out.elementwise_us = k.elementwise_us;
  out.elementwise_efficiency = k.elementwise_efficiency;
  return out;
}

}  // namespace spillway
