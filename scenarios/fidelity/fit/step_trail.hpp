// The steps of one simulation, kept so that the times between its events can be told again under
// other step times.
//
// The schedule stays as it was simulated; a fit simulates again once its parameters have moved.
#pragma once

#include <vector>

#include "models/compute/step_cost.hpp"
#include "scenarios/fidelity/fit/step_instant.hpp"
#include "sim/observer.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

class StepTrail {
 public:
  /// Runs `workload` on the engine of `scenario`, with steps that last as `cost` says.
  /// Precondition: one engine of one stage, or several that step together, and no tier below HBM.
  StepTrail(const Scenario& scenario, const Workload& workload, StepCost& cost);

  const std::vector<RequestRecord>& requests() const { return requests_; }  ///< by request
  std::size_t steps() const { return steps_.size(); }
  /// What a step computed, by engine.
  std::vector<StepShape> shapes(std::size_t step) const;
  /// Of the engine that computed most.
  StepShape shape(std::size_t step) const;
  /// How long it computed.
  double seconds(std::size_t step) const { return seconds_of(steps_[step].compute); }

  /// Seconds by which steps last longer under `cost` than they did, summed over the first i steps.
  std::vector<double> shifts(StepCost& cost) const;

  StepInstant instant(Time at) const { return instant_on(steps_, at); }

 private:
  struct Part {
    StepShape shape;  ///< without its prefills
    std::size_t first_prefill = 0;
    std::size_t prefills = 0;
  };
  struct Step {
    std::size_t first_part = 0;
    std::size_t parts = 0;  ///< engines
    std::size_t told = 0;   ///< of these with tokens, those whose step has ended
    std::size_t with_tokens = 0;
    Duration compute{};
    Time start{};
    Time end{};
  };
  class Recording;

  std::vector<Step> steps_;
  std::vector<Part> parts_;
  std::vector<PrefillChunk> prefills_;
  std::vector<RequestRecord> requests_;
};

}  // namespace spillway
