#include "models/engine/schedulers/queue_scheduler.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

QueueScheduler::QueueScheduler(RequestPool& requests, Observer& observer,
                               const SchedulerRules& rules, const StepRules& step)
    : requests_(requests),
      observer_(observer),
      rules_(rules),
      step_(step),
      waiting_(requests, rules.order == QueueOrder::kPriority),
      apart_(requests, rules.order == QueueOrder::kPriority) {
  running_.reserve(step.requests);
}

void QueueScheduler::begin(StepPlan& plan) {
  plan.clear();
  victims_.clear();
}

/// Upstream compares (priority, arrival) alone, of wall-clock arrivals that are never equal; here
/// requests may arrive together, and taking the first of equals could preempt whoever is furthest
/// along for ever.
std::size_t QueueScheduler::victim(std::size_t end) const {
  if (rules_.victim == VictimRule::kLast) return end - 1;
  const auto rank = [&](std::size_t i) { return rank_of(requests_[running_[i]]); };
  std::size_t worst = 0;
  for (std::size_t i = 1; i < end; ++i) {
    if (rank(worst) < rank(i)) worst = i;
  }
  return worst;
}

void QueueScheduler::lose(Handle h, Time now, StepPlan& plan) {
  ActiveRequest& r = requests_[h];
  if (recomputes()) {
    r.computed_peak = std::max(r.computed_peak, r.computed);
    r.computed = 0;
    r.placeholders = 0;
    r.registered = 0;
    plan.preempted.push_back(h);
  }
  victims_.push_back(h);
  plan.starved = true;
  r.state = RequestState::kPreempted;
  ++r.preemptions;
  r.clock.preempt(now);
  observer_.on_preemption(now, r.id);
}

void QueueScheduler::requeue() {
  for (const Handle h : victims_) {
    rules_.requeue == Requeue::kFront ? waiting_.push_front(h) : apart_.push_back(h);
  }
}

void QueueScheduler::apply(StepPlan& plan) {
  for (ScheduledTokens& item : plan.items) {
    ActiveRequest& r = requests_[item.request];
    r.computed += item.tokens;
    item.samples = r.computed == r.tokens();
  }
}

void QueueScheduler::stop_running(Handle h) {
  running_.erase(std::find(running_.begin(), running_.end(), h));
}

void QueueScheduler::withdraw(Handle h) {
  KV_ASSERT(requests_[h].slots.empty(), "a request leaves the queue with its blocks");
  const bool there = apart_.erase(h) || waiting_.erase(h);
  KV_ASSERT(there, "request {} is not in the queue", raw(requests_[h].id));
}

std::vector<Handle> QueueScheduler::queued() const {
  std::vector<Handle> out;
  apart_.list(out);
  waiting_.list(out);
  if (rules_.order == QueueOrder::kPriority) {
    std::sort(out.begin(), out.end(),
              [&](Handle a, Handle b) { return rank_of(requests_[a]) < rank_of(requests_[b]); });
  }
  return out;
}

}  // namespace spillway
