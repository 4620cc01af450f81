#include "scenarios/run/fit_reach.hpp"

namespace spillway {

namespace {

class CountingReach final : public StepCost {
 public:
  CountingReach(std::unique_ptr<StepCost> cost, const FittedRange& range, FitReach& reach)
      : cost_(std::move(cost)), range_(range), reach_(reach) {}

  Duration step_time(const StepShape& shape) override { return group_time({&shape, 1}); }
  Duration group_time(std::span<const StepShape> shapes) override {
    const Duration out = cost_->group_time(shapes);
    bool held = true;
    for (const StepShape& shape : shapes) {
      if (shape.tokens() == 0) continue;  // a dummy batch
      held = held && range_.holds(shape);
      reach_.seen.add(shape);
    }
    (held ? reach_.inside : reach_.outside) += out;
    return out;
  }
  Duration collective_time(const StepShape& shape, std::span<const StepShape> group) override {
    return cost_->collective_time(shape, group);
  }
  std::uint32_t window() const override { return cost_->window(); }

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
