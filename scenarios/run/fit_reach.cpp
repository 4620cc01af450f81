#include "scenarios/run/fit_reach.hpp"

namespace spillway {

namespace {

class CountingReach final : public StepCost {
 public:
  CountingReach(std::unique_ptr<StepCost> cost, const FittedRange& range, FitReach& reach)
      : cost_(std::move(cost)), range_(range), reach_(reach) {}

  Duration step_time(const StepShape& shape) override {
    const Duration out = cost_->step_time(shape);
    (range_.holds(shape) ? reach_.inside : reach_.outside) += out;
    reach_.seen.add(shape);
    return out;
  }
  Duration collective_time(std::uint64_t tokens) override { return cost_->collective_time(tokens); }

 private:
  std::unique_ptr<StepCost> cost_;
  const FittedRange& range_;
  FitReach& reach_;
};

}  // namespace

double FitReach::outside_share() const {
  if (outside == Duration(0)) return 0;
  return seconds_of(outside) / seconds_of(inside + outside);
}

std::unique_ptr<StepCost> counting_reach(std::unique_ptr<StepCost> cost, const FittedRange& range,
                                         FitReach& reach) {
  return std::make_unique<CountingReach>(std::move(cost), range, reach);
}

}  // namespace spillway
