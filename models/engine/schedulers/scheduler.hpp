// What an engine asks of its scheduler: which requests compute how many tokens in the next step.
//
// Per step that computes, in this order: schedule(), apply(), and when the step has ended
// on_step_end(), then collect() for each request that emits a token, finish() where that was its
// last.
#pragma once

#include <cstdint>
#include <vector>

#include "models/requests/engine_stats.hpp"
#include "models/requests/standstill.hpp"
#include "models/requests/step_plan.hpp"

namespace spillway {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Blocks that the request's whole sequence may need.
  virtual std::uint64_t blocks_of(const ActiveRequest& r) const = 0;
  /// Why it can never be served, if so.
  virtual Reason refuses(const ActiveRequest& r) const = 0;

  virtual void enqueue(Handle h) = 0;
  /// Decides a step and allocates for it. C is not advanced: apply() does, after stores are
  /// planned.
  virtual void schedule(Time now, StepPlan& plan) = 0;
  virtual void apply(StepPlan& plan) = 0;
  /// The step has computed. What has meanwhile lost its token samples no longer.
  virtual void on_step_end(StepPlan& /*plan*/, Time /*now*/) {}
  /// A step that samples this request was collected: its next token is known.
  virtual void collect(ActiveRequest& r) = 0;
  /// The request emitted its last token: its blocks become free. False when it held none, having
  /// been preempted while that token was in flight.
  virtual bool finish(Handle h, Time now) = 0;
  /// A finished request that kept its blocks gives them back.
  virtual void let_go(Handle /*h*/, Time /*now*/) {}
  /// What a running request computed in the step that ends is void, and its KV behind the first
  /// `computed` tokens is not there: it goes on from them.
  virtual void roll_back(Handle /*h*/, std::uint32_t /*computed*/, bool /*sampled*/) {}
  /// Takes a waiting request that holds no blocks out of the queue, for good.
  virtual void withdraw(Handle h) = 0;

  virtual std::uint32_t running() const = 0;
  virtual std::uint32_t waiting() const = 0;

  /// HBM, and the tiers below it where the scheduler itself keeps blocks there.
  virtual std::uint32_t tiers() const { return 1; }
  virtual TierLevel level(std::uint32_t tier) const = 0;
  /// Where the blocks that running requests need lie, for schedulers that leave some below HBM.
  virtual void tell_needed(Time, Observer&) const {}
  virtual void report(EngineStats& stats) const = 0;
  /// When a run has ended without a request left: its stores must be empty of users.
  virtual void check_drained() const = 0;

  /// Behind a fatal plan: empties all queues and stores, as the end of the process does. Every
  /// request that was here, in the order in which they are told of it.
  virtual std::vector<Handle> abandon() { return {}; }
  /// Every request that is not running, in queue order, for the report of a deadlock.
  virtual std::vector<Handle> queued() const = 0;
  /// Why none of these gets on, when nothing runs and nothing is in flight.
  virtual Standstill standstill() const { return {}; }
  /// Every request that is running, in order of admission, for the same report.
  virtual std::vector<Handle> served() const { return {}; }
};

}  // namespace spillway
