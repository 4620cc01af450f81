// Spans of a log on the steps of a simulation.
#pragma once

#include <vector>

#include "scenarios/fidelity/fit/interval_fit.hpp"
#include "scenarios/fidelity/fit/step_trail.hpp"

namespace spillway {

struct PlacedSpan {
  double simulated_s;
  StepTrail::Instant from;
  StepTrail::Instant to;

  /// One past the last step that it holds any of.
  std::size_t end() const { return to.steps + (to.share > 0 ? 1 : 0); }
};

/// Steps that some span holds, ascending.
std::vector<std::size_t> steps_of(const std::vector<PlacedSpan>& spans);

/// Of each span, which classes of steps it holds; new ones are added to `classes`.
std::vector<std::vector<StepShare>> class_shares(const StepTrail& trail,
                                                 const std::vector<PlacedSpan>& spans,
                                                 StepClasses& classes);

}  // namespace spillway
