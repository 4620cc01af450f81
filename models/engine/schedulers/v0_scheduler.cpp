#include "models/engine/schedulers/v0_scheduler.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

V0Scheduler::V0Scheduler(const Environment& environment)
    : QueueScheduler(environment.requests, environment.observer, environment.rules,
                     environment.step),
      block_tokens_(environment.config.block_tokens),
      blocks_(block_tokens_, environment.config.num_gpu_blocks, environment.config.swap.cpu_blocks,
              environment.config.watermark) {
  KV_ASSERT(rules_.admit == AdmitRule::kKnownTokens && rules_.victim == VictimRule::kLast &&
                rules_.order == QueueOrder::kArrival,
            "rules of another family");
}

/// The last token's KV is never stored, so P + O - 1 tokens have to fit.
std::uint64_t V0Scheduler::blocks_of(const ActiveRequest& r) const {
  const std::uint64_t length = std::uint64_t{r.prompt} + r.output;
  return (length - 1 + block_tokens_ - 1) / block_tokens_;
}

void V0Scheduler::schedule(Time now, StepPlan& plan) {
  begin(plan);
  from_running_.clear();
  from_swapped_.clear();
  from_waiting_.clear();
  left_.clear();
  if (step_.mixed) {
    schedule_chunked(now, plan);
  } else {
    schedule_default(now, plan);
  }
  if (plan.fatal) return;
  requeue();
  count_swaps(plan);
}

/// Prompts, unless something is swapped out; only where none starts, decodes.
void V0Scheduler::schedule_default(Time now, StepPlan& plan) {
  Budget budget{step_.tokens, step_.requests - static_cast<std::uint32_t>(running_.size())};
  if (apart_.empty()) schedule_waiting(now, plan, budget);
  if (!from_waiting_.empty()) {
    plan.items = from_waiting_;
    for (const ScheduledTokens& item : from_waiting_) running_.push_back(item.request);
    return;
  }
  budget.seqs = step_.requests;  // each running request counts as it is scheduled
  schedule_running(now, plan, budget);
  if (plan.fatal) return;
  if (victims_.empty()) schedule_swapped(now, plan, budget);
  KV_ASSERT(from_running_.prefills.empty() && from_swapped_.prefills.empty(),
            "a prompt in part, without chunked prefill");
  plan.items = from_running_.decodes;
  plan.items.insert(plan.items.end(), from_swapped_.decodes.begin(), from_swapped_.decodes.end());
  running_.clear();
  for (const ScheduledTokens& item : plan.items) running_.push_back(item.request);
}

/// Prompts come first in the step, as attention backends want them, and last among the running.
void V0Scheduler::schedule_chunked(Time now, StepPlan& plan) {
  Budget budget{step_.tokens, step_.requests};
  schedule_running(now, plan, budget);
  if (plan.fatal) return;
  if (victims_.empty()) schedule_swapped(now, plan, budget);
  schedule_waiting(now, plan, budget);
  for (const auto* part : {&from_waiting_, &from_running_.prefills, &from_swapped_.prefills,
                           &from_running_.decodes, &from_swapped_.decodes}) {
    plan.items.insert(plan.items.end(), part->begin(), part->end());
  }
  running_ = left_;
  for (const auto* part : {&from_swapped_.decodes, &from_swapped_.prefills, &from_running_.decodes,
                           &from_running_.prefills, &from_waiting_}) {
    for (const ScheduledTokens& item : *part) running_.push_back(item.request);
  }
}

// ---- the three walks
// ---------------------------------------------------------------------------------

/// The walk takes from the front; victims are taken from the back, where `end` moves.
void V0Scheduler::schedule_running(Time now, StepPlan& plan, Budget& budget) {
  std::size_t next = 0;
  std::size_t end = running_.size();
  while (next < end) {
    const Handle h = running_[next];
    const std::uint32_t tokens = new_tokens(h, budget);
    if (tokens == 0) break;
    ++next;
    const std::uint32_t known = requests_[h].tokens();
    bool kept = true;
    while (kept && !blocks_.can_append(h, known)) {
      if (next < end) {
        end = victim(end);
        preempt(running_[end], now, plan);
      } else {
        kept = false;
        preempt(h, now, plan);
      }
      if (plan.fatal) return;
    }
    if (!kept) continue;
    const bool prefills = blocks_.prefills(h, known);
    blocks_.append(h, known);
    note_scheduled(prefills ? from_running_.prefills : from_running_.decodes, h, tokens, now);
    budget.take(tokens);
  }
  for (; next < end; ++next) left_.push_back(running_[next]);
}

void V0Scheduler::schedule_swapped(Time now, StepPlan& plan, Budget& budget) {
  while (!apart_.empty()) {
    const Handle h = apart_.front();
    const std::uint32_t known = requests_[h].tokens();
    const AllocStatus status = blocks_.can_swap_in(h, known);
    plan.starved = plan.starved || status == AllocStatus::kLater;
    if (status == AllocStatus::kLater) return;
    if (status == AllocStatus::kNeverFits) {
      apart_.pop_front();
      blocks_.free(h);
      plan.refused.push_back({h, Reason::kExceedsPool});
      continue;
    }
    const std::uint32_t tokens = new_tokens(h, budget);
    if (!budget.fits(tokens)) return;
    apart_.pop_front();
    const bool prefills = blocks_.prefills(h, known);
    plan.swapped_in += blocks_.swap_in(h);
    blocks_.append(h, known);
    ++swaps_.requests_in;
    requests_[h].state = RequestState::kRunning;
    note_scheduled(prefills ? from_swapped_.prefills : from_swapped_.decodes, h, tokens, now);
    budget.take(tokens);
  }
}

void V0Scheduler::schedule_waiting(Time now, StepPlan& plan, Budget& budget) {
  while (!waiting_.empty()) {
    const Handle h = waiting_.front();
    ActiveRequest& r = requests_[h];
    const std::uint32_t known = r.tokens();
    const std::uint32_t tokens = step_.chunked ? std::min(known, budget.tokens) : known;
    if (tokens > longest_prompt()) {
      waiting_.pop_front();
      plan.refused.push_back({h, Reason::kTooLong});
      continue;
    }
    const AllocStatus status = blocks_.can_allocate(known);
    plan.starved = plan.starved || status == AllocStatus::kLater;
    if (status == AllocStatus::kLater) return;
    if (status == AllocStatus::kNeverFits) {
      waiting_.pop_front();
      plan.refused.push_back({h, Reason::kExceedsPool});
      continue;
    }
    if (!budget.fits(tokens) || restarts_for_ever(known)) return;
    waiting_.pop_front();
    blocks_.allocate(h, known);
    r.state = RequestState::kRunning;
    r.admitted_before = true;
    note_scheduled(from_waiting_, h, tokens, now);
    budget.take(tokens);
  }
}

// ---- preemption
// ----------------------------------------------------------------------------------

void V0Scheduler::preempt(Handle victim, Time now, StepPlan& plan) {
  if (recomputes()) {
    blocks_.free(victim);
    return lose(victim, now, plan);
  }
  const ActiveRequest& r = requests_[victim];
  if (!blocks_.can_swap_out(victim, r.tokens())) {
    plan.fatal = true;
    swaps_.fatal = {r.id, blocks_.needed_to_swap(victim, r.tokens()), blocks_.cpu().free};
    return;
  }
  plan.swapped_out += blocks_.swap_out(victim);
  lose(victim, now, plan);
}

void V0Scheduler::count_swaps(const StepPlan& plan) {
  if (!recomputes()) swaps_.requests_out += victims_.size();
  swaps_.blocks_out += plan.swapped_out;
  swaps_.blocks_in += plan.swapped_in;
  swaps_.peak_requests = std::max(swaps_.peak_requests, static_cast<std::uint32_t>(apart_.size()));
  swaps_.peak_blocks = std::max(swaps_.peak_blocks, blocks_.cpu().used());
}

// ---- ends
// ----------------------------------------------------------------------------------------

bool V0Scheduler::finish(Handle h, Time /*now*/) {
  stop_running(h);
  blocks_.free(h);
  requests_[h].state = RequestState::kFinished;
  return true;
}

TierLevel V0Scheduler::level(std::uint32_t tier) const {
  if (tier == 0) return {0, 0, 0, blocks_.gpu().used()};
  const std::uint32_t held = blocks_.cpu().used();
  return {swaps_.blocks_out, swaps_.blocks_out - held, held, held};
}

std::vector<Handle> V0Scheduler::abandon() {
  std::vector<Handle> out = running_;  // as before the step that failed: its victims are in there
  apart_.list(out);
  for (const Handle h : out) blocks_.free(h);
  waiting_.list(out);
  running_.clear();
  while (!apart_.empty()) apart_.pop_front();
  while (!waiting_.empty()) waiting_.pop_front();
  return out;
}

// ---- small parts
// ---------------------------------------------------------------------------------

void V0Scheduler::note_scheduled(std::vector<ScheduledTokens>& to, Handle h, std::uint32_t tokens,
                                 Time now) {
  ActiveRequest& r = requests_[h];
  if (r.scheduled == kNever) r.scheduled = now;
  to.push_back({h, tokens, r.computed});
}

/// What is left of a prompt, in as far as the step's tokens go where it may be cut; one token of a
/// decode.
std::uint32_t V0Scheduler::new_tokens(Handle h, const Budget& budget) const {
  const ActiveRequest& r = requests_[h];
  const std::uint32_t tokens = r.tokens() - r.computed;
  return step_.chunked ? std::min(tokens, budget.tokens) : tokens;
}

/// Model: upstream admits a prompt that takes several steps and the whole pool. With room left in
/// its last block it wants a free one to go on, preempts itself, and begins again, without end.
/// Here it stays at the head of the queue, where it blocks what it blocks upstream.
bool V0Scheduler::restarts_for_ever(std::uint32_t tokens) const {
  return step_.chunked && recomputes() && tokens > step_.tokens && blocks_.takes_all(tokens);
}

/// A prompt that is computed whole has to fit a step.
std::uint32_t V0Scheduler::longest_prompt() const {
  const std::uint32_t limit = step_.longest > 0 ? step_.longest : ~std::uint32_t{0};
  return step_.chunked ? limit : std::min(limit, step_.tokens);
}

}  // namespace spillway
