// What a step moves beside its compute, and how that holds it up or lengthens it.
//
// For each step whose worker part begins, in this order: start(); flushed() until it says yes;
// load() once; may_compute() until it says yes; where it computes or copies, begin_forward() and
// new_end() until the forward has ended; end(). What answers is asked again whenever a transfer has
// ended. Worker parts follow one another, so all but end() are about one step at a time.
//
// As it stands here, nothing moves: a step lasts as long as its compute.
#pragma once

#include <optional>
#include <span>

#include "models/requests/engine_stats.hpp"
#include "models/requests/step_plan.hpp"
#include "sim/units.hpp"

namespace spillway {

struct StepTransfers;

/// A request that ran in a step, and whose load did not come whole: what it computed is void.
struct FailedLoad {
  Handle request{};
  bool ends = false;           ///< it fails; else it goes on
  std::uint32_t computed = 0;  ///< from these tokens
};

class StepMoves {
 public:
  virtual ~StepMoves() = default;

  /// The worker part begins, and submits what it does not wait for.
  virtual void start(const StepTransfers&) {}
  /// What has to be out of the way before anything of this step moves is.
  virtual bool flushed(const StepPlan&, const StepTransfers&) { return true; }
  /// Of the time until then, what was spent otherwise than for what was in the way.
  virtual Duration asked() const { return Duration(0); }
  /// Nothing is in the way since `now`: it moves what the step needs.
  virtual void load(const StepPlan&, const StepTransfers&, Time /*now*/) {}
  virtual bool may_compute() { return true; }
  /// What it computes of its plan, asked once it may: not what its moves have brought meanwhile.
  virtual const StepPlan& left_of(const StepPlan& plan) { return plan; }
  /// The forward would begin at `now` and last `compute`; it begins later by what is returned, the
  /// time of copies on its own stream or of a connector.
  virtual Duration begin_forward(const StepPlan&, Time now, Duration compute) {
    end_ = now + compute;
    return Duration(0);
  }
  /// When the forward ends: told once that is certain, and again whenever it has moved.
  virtual std::optional<Time> new_end(Time /*now*/) {
    const std::optional<Time> end = end_;
    end_.reset();
    return end;
  }
  /// The forward has ended: whether the step ends with it. If not, new_end() tells when it does.
  virtual bool may_end() { return true; }
  /// The next step may be planned before this one has begun.
  virtual bool plans_ahead() const { return true; }
  /// The step has computed: before its tokens are collected.
  virtual void computed(const StepPlan&, Time /*now*/) {}
  /// Of the step that ends, before its tokens are collected.
  virtual std::span<const FailedLoad> failed_loads() const { return {}; }
  /// The worker will never go on.
  virtual bool hangs() const { return false; }
  /// The step has ended, and its tokens are collected.
  virtual void end(const StepTransfers&, Time /*now*/) {}

  /// Of the step whose forward began last.
  virtual ConnectorWork work() const { return {}; }
  /// Nothing is on its way.
  virtual bool idle() const { return true; }
  virtual void report(EngineStats&) const {}

 protected:
  std::optional<Time> end_{};  ///< not told yet
};

}  // namespace spillway
