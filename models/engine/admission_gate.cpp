#include "models/engine/admission_gate.hpp"

#include <algorithm>

namespace spillway {

void PrefillMeter::advance(Time now, std::uint64_t queued) {
  if (queued > 0) {
    rate_.busy += now - now_;
    active_ = now;
    while (rate_.busy > kMemory) {
      rate_.busy /= 2;
      // Blocked for long is slow, which is not the same as never seen.
      if (rate_.tokens > 1) rate_.tokens /= 2;
    }
  } else if (now - active_ > kForget) {
    rate_ = {};
  }
  now_ = now;
}

AdmissionGate::AdmissionGate(std::unique_ptr<AdmissionPolicy> policy, RequestPool& requests)
    : policy_(std::move(policy)),
      requests_(requests),
      longest_wait_(open() ? Duration::max() : policy_->longest_wait()) {}

Reason AdmissionGate::ask(const ActiveRequest& r, std::uint64_t blocks, std::uint32_t running,
                          std::uint32_t waiting, Time now) {
  if (open()) return Reason::kNone;
  meter_.advance(now, queued_tokens_);
  AdmissionView view;
  view.now = now;
  view.prompt_tokens = r.prompt;
  view.output_tokens = r.output;
  view.blocks = blocks;
  view.committed_blocks = committed_blocks_;
  view.running = running;
  view.waiting = waiting;
  view.queued_prefill_tokens = queued_tokens_;
  view.prefill = meter_.rate();
  return policy_->decide(view);
}

void AdmissionGate::enter(Handle h, std::uint64_t blocks, Time now) {
  if (open()) return;
  ActiveRequest& r = requests_[h];
  r.committed = static_cast<std::uint32_t>(blocks);
  committed_blocks_ += blocks;
  set_left(r, r.prompt);
  if (longest_wait_ < Time::max() - now) deadlines_.push_back({now + longest_wait_, h, r.id});
}

void AdmissionGate::leave(ActiveRequest& r, Time now) {
  if (open()) return;
  meter_.advance(now, queued_tokens_);
  committed_blocks_ -= r.committed;
  r.committed = 0;
  set_left(r, 0);
}

void AdmissionGate::set_left(ActiveRequest& r, std::uint32_t left) {
  queued_tokens_ -= r.prefill_left;
  queued_tokens_ += left;
  r.prefill_left = left;
}

void AdmissionGate::on_preempted(const StepPlan& plan, Time now) {
  if (open() || plan.preempted.empty()) return;
  meter_.advance(now, queued_tokens_);
  for (const Handle h : plan.preempted) set_left(requests_[h], requests_[h].prompt);
}

void AdmissionGate::on_step_end(const StepPlan& plan, Time now) {
  if (open()) return;
  meter_.advance(now, queued_tokens_);
  for (const ScheduledTokens& item : plan.items) {
    ActiveRequest& r = requests_[item.request];
    const std::uint32_t covered = std::min(item.computed + item.tokens, r.prompt);
    const std::uint32_t left = r.prompt - covered;
    if (left >= r.prefill_left) continue;
    meter_.add(r.prefill_left - left);
    set_left(r, left);
  }
}

/// The scheduler takes a request up when it gives it blocks, for its first tokens or for a load.
bool AdmissionGate::still_waits(const Deadline& deadline) const {
  const ActiveRequest& r = requests_[deadline.handle];
  return r.id == deadline.request && r.committed > 0 && !r.admitted_before;
}

Time AdmissionGate::next_deadline() {
  while (!deadlines_.empty() && !still_waits(deadlines_.front())) deadlines_.pop_front();
  return deadlines_.empty() ? Time::max() : deadlines_.front().at;
}

bool AdmissionGate::take_expired(Time now, Handle& out) {
  if (next_deadline() > now) return false;
  out = deadlines_.front().handle;
  deadlines_.pop_front();
  return true;
}

}  // namespace spillway
