// The parameters of a step's time that logs can tell, and the step cost and the profile that go
// with their values.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/compute/compute_profile.hpp"
#include "scenarios/fidelity/fit/fit_form.hpp"

namespace spillway {

struct Scenario;

enum class StepParameter : std::uint8_t {
  kFlopEfficiency,
  kByteEfficiency,
  kDecodeEfficiency,
  kComputeScale,
  kMemoryScale,
  kAttentionScale,
  kCollectiveScale,
  kHostOverhead,
  kEagerOverhead,
};

/// How many of the steps behind a log replay a captured graph, and how many do not.
struct StepKinds {
  std::size_t replayed = 0;
  std::size_t eager = 0;
};

/// What a log of such steps can tell apart: shares of the data sheet, or factors of kernels that
/// are known; a factor of collectives on several ranks; what an eager step takes beyond one that
/// replays a graph where both occur.
std::vector<StepParameter> varied_parameters(bool kernels_known, std::uint32_t ranks,
                                             const StepKinds& steps);

/// What a fit of steps starts from, in the order of `varied`; beliefs are the spread over measured
/// GPUs and engines. From the data sheet of the scenario's GPU with the efficiencies of GPUs that
/// nobody measured, or kernels known already.
class StepModel : public FitForm {
 public:
  /// Throws InputError (exit 2) where the scenario names no model or no GPU, or has several stages,
  /// or engines that do not step together. `scenario` and `kernels` outlive the object.
  StepModel(const Scenario& scenario, std::vector<StepParameter> varied,
            const ComputeProfile* kernels = nullptr);

  /// Kernels are known, so that the parameters are factors of them.
  bool scales_kernels() const { return kernels_ != nullptr; }

  /// The largest batch that replays a captured graph.
  std::uint32_t graph_tokens() const { return base_.graph_tokens; }
  std::unique_ptr<StepCost> cost(std::span<const double> values) const;
  ComputeProfile profile(std::span<const double> values) const;

 private:
  ComponentsCost with(std::span<const double> values, KernelScales& scales) const;

  std::vector<StepParameter> varied_;
  const ComputeProfile* kernels_;
  ComponentsCost base_;
  KernelScales scales_;
};

}  // namespace spillway
