// Spans of a log on the steps of a simulation.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "models/calibration/confidence.hpp"
#include "scenarios/fidelity/fit/interval_fit.hpp"
#include "scenarios/fidelity/fit/step_trail.hpp"

namespace spillway {

struct PlacedSpan {
  double simulated_s;
  StepInstant from;
  StepInstant to;

  /// One past the last step that it holds any of.
  std::size_t end() const { return to.steps + (to.share > 0 ? 1 : 0); }
};

/// Steps that some span holds, ascending.
std::vector<std::size_t> steps_of(const std::vector<PlacedSpan>& spans);

/// Of each span, which classes of steps it holds; new ones are added to `classes`.
std::vector<std::vector<StepShare>> class_shares(const StepTrail& trail,
                                                 const std::vector<PlacedSpan>& spans,
                                                 StepClasses& classes);

/// How fast answers end, whosever they are: the sum of their ends, the n-th weighed by how far n is
/// from the middle, so that what delays all of them (an engine's slow start) counts for nothing.
struct AnswersInOrder {
  double measured_s = 0;
  double simulated_s = 0;
  std::vector<std::pair<double, StepInstant>> ends;  ///< weights and the simulation's ends
};

/// Of answers that are measured to end `within`. Nothing: too few, or not all ends are known.
/// Precondition: both are of the same requests.
std::optional<AnswersInOrder> answers_in_order(const StepTrail& trail, std::vector<double> measured,
                                               std::vector<Time> simulated, const TimeSpan& within);

}  // namespace spillway
