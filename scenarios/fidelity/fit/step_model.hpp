// The parameters of a step's time that logs can tell, and the step cost and the profile that go
// with their values.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/calibration/least_squares.hpp"
#include "models/compute/compute_profile.hpp"

namespace spillway {

struct Scenario;

enum class StepParameter : std::uint8_t {
  kFlopEfficiency,
  kByteEfficiency,
  kDecodeEfficiency,
  kHostOverhead,
  kEagerOverhead,
};

/// What a log of so many steps of either kind can tell apart: with known kernels the overheads
/// only; what an eager step takes beyond one that replays a graph where both occur.
std::vector<StepParameter> varied_parameters(bool kernels_known, std::size_t replayed,
                                             std::size_t eager);

/// What a fit starts from: the data sheet of the scenario's GPU with the efficiencies of GPUs that
/// nobody measured, or kernels known already.
class StepModel {
 public:
  /// Throws InputError (exit 2) where the scenario names no model or no GPU, or has several stages,
  /// or engines that do not step together. `scenario` and `kernels` outlive the object.
  StepModel(const Scenario& scenario, std::vector<StepParameter> varied,
            const ComputeProfile* kernels = nullptr);

  /// In the order of `varied`, with physical bounds; start is what is believed before any data.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Standard deviations of that belief: the spread over measured GPUs and engines.
  const std::vector<double>& priors() const { return priors_; }
  std::vector<double> start() const;

  /// The largest batch that replays a captured graph.
  std::uint32_t graph_tokens() const { return base_.graph_tokens; }
  std::unique_ptr<StepCost> cost(std::span<const double> values) const;
  ComputeProfile profile(std::span<const double> values) const;

 private:
  ComponentsCost with(std::span<const double> values) const;

  std::vector<StepParameter> varied_;
  std::vector<Parameter> parameters_;
  std::vector<double> priors_;
  const ComputeProfile* kernels_;
  ComponentsCost base_;
};

}  // namespace spillway
