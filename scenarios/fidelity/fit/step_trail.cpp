#include "scenarios/fidelity/fit/step_trail.hpp"

#include <algorithm>

#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/front_end.hpp"
#include "sim/error.hpp"

namespace spillway {

/// Steps are computed in the order in which they end, so that the n-th time asked for is that of
/// the n-th step told.
class StepTrail::Recording final : public Observer {
 public:
  Recording(StepTrail& trail, StepCost& cost) : trail_(trail), cost_(cost) {}

  std::unique_ptr<StepCost> recorder() { return std::make_unique<Recorder>(*this); }

  void on_step(const StepRecord& r) override {
    KV_ASSERT(ended_ < trail_.steps_.size(), "a step that was never computed");
    Step& step = trail_.steps_[ended_];
    step.start = r.start;
    step.end = r.end;
    if (++step.told == step.with_tokens) ++ended_;
  }
  void on_request(const RequestRecord& r) override { trail_.requests_[raw(r.request)] = r; }

 private:
  class Recorder final : public StepCost {
   public:
    explicit Recorder(Recording& to) : to_(to) {}
    Duration step_time(const StepShape& shape) override { return group_time({&shape, 1}); }
    Duration group_time(std::span<const StepShape> shapes) override {
      StepTrail& trail = to_.trail_;
      Step step;
      step.first_part = trail.parts_.size();
      step.parts = shapes.size();
      step.compute = to_.cost_.group_time(shapes);
      for (const StepShape& shape : shapes) {
        trail.parts_.push_back({shape, trail.prefills_.size(), shape.prefills.size()});
        trail.parts_.back().shape.prefills = {};
        trail.prefills_.insert(trail.prefills_.end(), shape.prefills.begin(), shape.prefills.end());
        step.with_tokens += shape.tokens() > 0 ? 1 : 0;
      }
      trail.steps_.push_back(step);
      return step.compute;
    }
    Duration collective_time(const StepShape& shape, std::span<const StepShape> group) override {
      return to_.cost_.collective_time(shape, group);
    }
    std::uint32_t window() const override { return to_.cost_.window(); }

   private:
    Recording& to_;
  };

  StepTrail& trail_;
  StepCost& cost_;
  std::size_t ended_ = 0;
};

StepTrail::StepTrail(const Scenario& scenario, const Workload& workload, StepCost& cost) {
  const bool together = scenario.lockstep() && scenario.fleet->replicas == 1;
  KV_ASSERT(!scenario.tier && scenario.engine.pipeline_parallel == 1 &&
                (together || scenario.engines() == 1),
            "steps of several stages, engines or of copies do not follow one another");
  requests_.resize(workload.size());
  Recording recording(*this, cost);
  SimulationOptions options;
  options.observers.push_back(&recording);
  options.cost = [&] { return recording.recorder(); };
  // Steps are told apart by the engine's own times.
  Scenario engine = scenario;
  *engine.front_end = FrontEndChoice{};
  simulate(engine, workload, options);
}

std::vector<StepShape> StepTrail::shapes(std::size_t step) const {
  std::vector<StepShape> out;
  for (std::size_t i = 0; i < steps_[step].parts; ++i) {
    const Part& part = parts_[steps_[step].first_part + i];
    out.push_back(part.shape);
    out.back().prefills = std::span(prefills_).subspan(part.first_prefill, part.prefills);
  }
  return out;
}

StepShape StepTrail::shape(std::size_t step) const {
  StepShape most;
  for (const StepShape& each : shapes(step)) {
    if (each.tokens() >= most.tokens()) most = each;
  }
  return most;
}

std::vector<double> StepTrail::shifts(StepCost& cost) const {
  std::vector<double> out(steps_.size() + 1, 0);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    out[i + 1] = out[i] + seconds_of(cost.group_time(shapes(i)) - steps_[i].compute);
  }
  return out;
}

}  // namespace spillway
