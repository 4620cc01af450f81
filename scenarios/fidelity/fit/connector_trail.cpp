#include "scenarios/fidelity/fit/connector_trail.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/compute/step_cost.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"

namespace spillway {

namespace {

class ScaledCost final : public StepCost {
 public:
  ScaledCost(std::unique_ptr<StepCost> cost, double scale)
      : cost_(std::move(cost)), scale_(scale) {}
  Duration step_time(const StepShape& shape) override {
    const auto ns = static_cast<double>(cost_->step_time(shape).count());
    return Duration(std::llround(scale_ * ns));
  }
  std::uint32_t window() const override { return cost_->window(); }

 private:
  std::unique_ptr<StepCost> cost_;
  double scale_;
};

}  // namespace

ConnectorCosts costs_of(const CostValues& values) {
  ConnectorCosts out;
  for (std::size_t k = 1; k < kCosts; ++k)
    out.*kCostRows[k].member = kCostRows[k].least + values[k];
  return out;
}

ConnectorTrail::ConnectorTrail(Scenario scenario, const Workload& workload,
                               const CostValues& values, bool tier)
    : values_(values), tier_(tier) {
  scenario.engine.costs = costs_of(values);
  requests_.resize(workload.size());
  SimulationOptions options;
  options.observers.push_back(this);
  options.cost = [&] { return std::make_unique<ScaledCost>(scenario.make_cost(), values[0]); };
  simulate(scenario, workload, options);
  std::stable_sort(
      requests_.begin(), requests_.end(),
      [](const RequestRecord& a, const RequestRecord& b) { return a.arrival < b.arrival; });
}

std::vector<double> ConnectorTrail::shifts(const CostValues& other) const {
  const double scale = other[0] / values_[0];
  const ConnectorCosts here = costs_of(values_);
  const ConnectorCosts there = costs_of(other);
  const auto scaled = [&](Duration d) {
    return Duration(std::llround(scale * static_cast<double>(d.count())));
  };
  std::vector<double> out(steps_.size() + 1, 0);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const ConnectorWork& was = steps_[i].connector;
    ConnectorWork is = was;
    is.compute = scaled(was.compute);
    is.cover = scaled(was.cover);
    Duration longer = is.compute - was.compute;
    if (tier_) longer += connector_time(there, is) - connector_time(here, was);
    out[i + 1] = out[i] + seconds_of(longer);
  }
  return out;
}

}  // namespace spillway
