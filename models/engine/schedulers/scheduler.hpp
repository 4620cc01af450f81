// What an engine asks of its scheduler: which requests compute how many tokens in the next step.
//
// Per step that computes, in this order: schedule(), apply(), and when the step has ended
// on_step_end(), then collect() for each request that emits a token, finish() where that was its
// last.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/active_request.hpp"
#include "models/engine/schedulers/standstill.hpp"
#include "models/engine/step_plan.hpp"

namespace spillway {

struct PrefixCacheCounters {
  std::uint64_t queries = 0;  ///< full blocks asked for, at first admissions
  std::uint64_t hits = 0;
  std::uint64_t hits_resumed = 0;  ///< by requests that had been preempted
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Blocks that the request's whole sequence may need, and whether there is room for it at all.
  virtual std::uint64_t blocks_of(const ActiveRequest& r) const = 0;
  virtual bool can_hold(const ActiveRequest& r) const = 0;

  virtual void enqueue(Handle h) = 0;
  /// Decides a step and allocates for it. C is not advanced: apply() does, after stores are
  /// planned.
  virtual void schedule(Time now, StepPlan& plan) = 0;
  virtual void apply(StepPlan& plan) = 0;
  virtual void on_step_end(const StepPlan& /*plan*/, Time /*now*/) {}
  /// A step that samples this request was collected: its next token is known.
  virtual void collect(ActiveRequest& r) = 0;
  /// The request emitted its last token: its blocks become free. False when it held none, having
  /// been preempted while that token was in flight.
  virtual bool finish(Handle h, Time now) = 0;
  /// Takes a waiting request that holds no blocks out of the queue, for good.
  virtual void withdraw(Handle h) = 0;

  virtual std::uint32_t running() const = 0;
  virtual std::uint32_t waiting() const = 0;
  virtual const PrefixCacheCounters& counters() const = 0;
  /// Every request that is not running, in queue order, for the report of a deadlock.
  virtual std::vector<Handle> queued() const = 0;
  /// Why none of these gets on, when nothing runs and nothing is in flight.
  virtual Standstill standstill() const { return {}; }
  /// Every request that is running, in order of admission, for the same report.
  virtual std::vector<Handle> served() const { return {}; }
};

}  // namespace spillway
