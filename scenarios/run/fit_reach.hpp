// How much of a run's step time lies beyond the steps that its compute profile was fitted to.
#pragma once

#include <memory>

#include "models/compute/compute_profile.hpp"

namespace spillway {

/// Over all steps of all engines of a run.
struct FitReach {
  Duration inside{};
  Duration outside{};
  FittedRange seen;  ///< what the run's own steps held

  double outside_share() const;
};

/// `cost`, each of whose steps is counted in `reach`; `range` and `reach` outlive it.
std::unique_ptr<StepCost> counting_reach(std::unique_ptr<StepCost> cost, const FittedRange& range,
                                         FitReach& reach);

}  // namespace spillway
