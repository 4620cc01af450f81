// What schedulers with a queue and a list of running requests share: queues, the choice of victims,
// where these wait, and how tokens of a step are counted when it is planned and collected.
//
// A scheduler calls begin() first in schedule(), lose() for each victim, and requeue() when nobody
// of this step waits any longer for what victims left.
#pragma once

#include <vector>

#include "models/engine/schedulers/scheduler.hpp"
#include "models/releases/scheduler_config.hpp"
#include "models/requests/request_queue.hpp"

namespace spillway {

class QueueScheduler : public Scheduler {
 public:
  void enqueue(Handle h) override { waiting_.push_back(h); }
  void apply(StepPlan& plan) override;
  void collect(ActiveRequest& r) override { ++r.generated; }
  void withdraw(Handle h) override;
  std::uint32_t running() const override { return static_cast<std::uint32_t>(running_.size()); }
  std::uint32_t waiting() const override {
    return static_cast<std::uint32_t>(waiting_.size() + apart_.size());
  }
  std::vector<Handle> queued() const override;
  std::vector<Handle> served() const override { return running_; }

 protected:
  QueueScheduler(RequestPool& requests, Observer& observer, const SchedulerRules& rules,
                 const StepRules& step);

  void begin(StepPlan& plan);
  /// Where in the first `end` of running_ the next victim stands.
  std::size_t victim(std::size_t end) const;
  /// Its blocks are gone: it waits once requeue() is called.
  void lose(Handle h, Time now, StepPlan& plan);
  void requeue();
  void stop_running(Handle h);
  bool recomputes() const { return rules_.fate != KvFate::kSwappedOut; }

  RequestPool& requests_;
  Observer& observer_;
  SchedulerRules rules_;
  StepRules step_;
  RequestQueue waiting_;
  RequestQueue apart_;  ///< those that go before the waiting ones where both may
  std::vector<Handle> running_;
  std::vector<Handle> victims_;  ///< of this step
};

}  // namespace spillway
