// How long the forward of a planned step takes: its plan as the shape that a step cost knows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/compute/step_cost.hpp"

namespace spillway {

struct StepPlan;

class ForwardCost {
 public:
  /// `kept_tokens`: of each sequence KV of at most so many is read; 0: of all. `collectives`: ranks
  /// or engines wait for each other, and the time in that is summed up.
  ForwardCost(std::unique_ptr<StepCost> cost, std::uint32_t kept_tokens, bool collectives);

  /// Precondition: it has tokens.
  Duration of(const StepPlan& plan);
  /// What it computes, until the next call. Precondition: it has tokens.
  StepShape shape_of(const StepPlan& plan);
  /// Sums up the collectives of `shape`, computed in one step with all of `group`.
  void count(const StepShape& shape, std::span<const StepShape> group);
  /// Of the plan's decodes alone, 0 where it has none.
  Duration of_decodes(const StepPlan& plan);
  StepCost& step() { return *cost_; }
  Duration collective() const { return collective_; }

 private:
  std::uint64_t windowed(const StepPlan& plan) const;

  std::unique_ptr<StepCost> cost_;
  std::uint32_t kept_tokens_;
  std::uint32_t window_;  ///< of sliding attention; 0: the cost has none
  bool collectives_;
  std::vector<PrefillChunk> chunks_;  ///< scratch
  Duration collective_{};
};

}  // namespace spillway
