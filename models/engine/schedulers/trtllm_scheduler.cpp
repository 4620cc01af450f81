#include "models/engine/schedulers/trtllm_scheduler.hpp"

#include <algorithm>
#include <utility>

#include "sim/error.hpp"

namespace spillway {

TrtllmScheduler::TrtllmScheduler(const Environment& environment)
    : config_(environment.config),
      rules_(config_.trtllm),
      requests_(environment.requests),
      tree_(environment.tree),
      copies_(environment.copies),
      observer_(environment.observer),
      blocks_(rules_, config_.block_tokens, environment.workload, environment.tree),
      next_(environment.workload, config_.block_tokens) {}

// ---- requests that come and go
// -------------------------------------------------------------------

std::uint64_t TrtllmScheduler::blocks_of(const ActiveRequest& r) const {
  return blocks_.blocks_of(std::uint64_t{r.prompt} + r.output);
}

Reason TrtllmScheduler::refuses(const ActiveRequest& r) const {
  if (blocks_of(r) > config_.num_gpu_blocks) return Reason::kExceedsPool;
  const std::uint64_t length = std::uint64_t{r.prompt} + r.output;
  const bool too_long = rules_.max_seq_len > 0 && length > rules_.max_seq_len;
  const bool over_budget = !config_.chunked_prefill && r.prompt > config_.max_num_batched_tokens;
  return too_long || over_budget ? Reason::kTooLong : Reason::kNone;
}

void TrtllmScheduler::enqueue(Handle h) {
  const auto index = static_cast<std::size_t>(h);
  if (held_.size() <= index) held_.resize(index + 1);
  Held& d = held_[index];
  d.sequence.begin(requests_[h].id);
  d.order = arrivals_++;
  d.context = requests_[h].prompt;
  d.suspended = false;
  waiting_.push_back(h);
}

void TrtllmScheduler::withdraw(Handle h) {
  const bool there = waiting_.erase_item(h);
  KV_ASSERT(there, "request {} is not in the queue", raw(requests_[h].id));
}

void TrtllmScheduler::leave_started(Handle h) {
  const auto at = std::lower_bound(started_.begin(), started_.end(), order(h),
                                   [&](Handle a, std::uint64_t o) { return order(a) < o; });
  KV_ASSERT(at != started_.end() && *at == h, "request {} has not begun", raw(requests_[h].id));
  started_.erase(at);
}

// ---- the end of a step
// ---------------------------------------------------------------------------

/// Prompts that are complete are there for others.
void TrtllmScheduler::on_step_end(StepPlan& plan, Time /*now*/) {
  for (const ScheduledTokens& item : plan.items) {
    const Held& d = held(item.request);
    const bool completes = item.computed < d.context && item.computed + item.tokens >= d.context;
    if (completes) blocks_.store(d.sequence, d.context - 1, false);
  }
}

/// Its blocks stay in use until all tokens of the step are out.
bool TrtllmScheduler::finish(Handle h, Time /*now*/) {
  ActiveRequest& r = requests_[h];
  if (finishing_ == finished_.size()) finished_.emplace_back();
  Finished& f = finished_[finishing_++];
  f.order = order(h);
  f.tokens = r.tokens();
  f.sequence.id = r.id;
  std::swap(f.sequence.blocks, held(h).sequence.blocks);
  held(h).sequence.blocks.clear();
  leave_started(h);
  r.state = RequestState::kFinished;
  return true;
}

void TrtllmScheduler::settle(Time now) {
  const auto end = finished_.begin() + static_cast<std::ptrdiff_t>(finishing_);
  std::sort(finished_.begin(), end,
            [](const Finished& a, const Finished& b) { return a.order < b.order; });
  for (auto f = finished_.begin(); f != end; ++f) give_back(*f, now);
  finishing_ = 0;
}

void TrtllmScheduler::give_back(Finished& finished, Time now) {
  blocks_.store(finished.sequence, finished.tokens - 1, true);
  blocks_.release(finished.sequence, now);
}

// ---- which requests have room
// --------------------------------------------------------------------

void TrtllmScheduler::schedule(Time now, StepPlan& plan) {
  plan.clear();
  copies_.begin_step();
  chosen_.clear();
  paused_.clear();
  asked_ = 0;
  next_.clear();
  meet_chunks();
  if (rules_.capacity == CapacityPolicy::kMaxUtilization) {
    choose_for_step();
  } else {
    choose_to_completion();
  }
  form_batch();
  for (const Handle h : paused_) pause(h, now, plan);
  compute_prompts(now, plan);
  take_from_waiting();
  compute_decodes(plan);
  for (const Handle h : paused_) requeue(h);
  if (!plan.items.empty()) tree_.expire(now);
  asleep_ = plan.items.empty();
}

/// What prompts compute that are under way (prefillWithChunkedContextsAlreadyExecuting).
void TrtllmScheduler::meet_chunks() {
  if (!rules_.block_reuse || !config_.chunked_prefill) return;
  for (const Handle h : started_) {
    if (!decodes(h)) passed_over(h, blocks_.reuse(held(h).sequence, held(h).context));
  }
}

/// Another begins with its next block, which it will find then (beneficialToSkip).
bool TrtllmScheduler::passed_over(Handle h, const SequenceBlocks::Reuse& reuse) {
  const Held& d = held(h);
  if (!rules_.block_reuse || reuse.all == d.context / page()) return false;
  return !next_.add(reuse.last, d.sequence.id, reuse.all);
}

/// GuaranteedNoEvictScheduler.
void TrtllmScheduler::choose_to_completion() {
  std::int64_t left = tree_.free_blocks();
  const auto to_completion = [&](Handle h) {
    return static_cast<std::int64_t>(blocks_of(requests_[h])) - held(h).sequence.held();
  };
  for (const Handle h : started_) {
    if (chosen_.size() >= config_.max_num_seqs) break;
    if (!decodes(h)) continue;
    chosen_.push_back({h});
    left -= to_completion(h);
  }
  std::size_t under_way = 0;
  for (;;) {
    while (under_way < started_.size() && decodes(started_[under_way])) ++under_way;
    const bool chunk = under_way < started_.size();
    const bool first = asked_ < waiting_.size() &&
                       !(chunk && order(started_[under_way]) < order(waiting_[asked_]));
    if (!first && !chunk) return;
    const Handle h = first ? waiting_[asked_++] : started_[under_way++];
    std::int64_t need = to_completion(h);
    std::uint32_t estimate = 0;
    if (first) {
      const SequenceBlocks::Reuse reuse = blocks_.reuse(held(h).sequence, held(h).context);
      if (passed_over(h, reuse)) continue;
      need -= reuse.used;
      estimate = reuse.all * page();
    }
    if (chosen_.size() >= config_.max_num_seqs || need > left) return;
    left -= need;
    chosen_.push_back({h, estimate});
  }
}

/// MaxUtilizationScheduler.
void TrtllmScheduler::choose_for_step() {
  std::int64_t left = tree_.free_blocks();
  std::size_t next = 0;
  std::size_t end = started_.size();
  given_ = 0;
  blocks_.begin_giving();
  for (;;) {
    // Behind one that is paused nobody is asked.
    const bool begun = next < end;
    const bool first = asked_ < waiting_.size() &&
                       !(begun && order(started_[next]) < order(waiting_[asked_])) &&
                       !(end < started_.size() && order(started_[end]) < order(waiting_[asked_]));
    if (!first && !begun) return;
    const Handle h = first ? waiting_[asked_++] : started_[next];
    const Held& d = held(h);
    std::int64_t need = 0;
    std::uint32_t estimate = 0;
    if (first) {
      const SequenceBlocks::Reuse reuse = blocks_.reuse(held(h).sequence, d.context);
      if (passed_over(h, reuse)) continue;
      const std::uint32_t found = std::min(reuse.used, (d.context - 1) / page());
      need = blocks_.blocks_of(d.context) - found;
      estimate = found * page();
    } else if (decodes(h)) {
      need =
          static_cast<std::int64_t>(blocks_.blocks_of(requests_[h].tokens())) - d.sequence.held();
    }
    while (chosen_.size() >= config_.max_num_seqs || need > left + given_) {
      if (!pause_last(h, end)) return;
    }
    if (!first) ++next;
    left -= need;
    chosen_.push_back({h, estimate});
  }
}

/// The last that holds blocks, of those from `from` on; false where there is none, or nobody is
/// left to be asked.
bool TrtllmScheduler::pause_last(Handle from, std::size_t& end) {
  if (end == 0 || order(started_[end - 1]) < order(from)) return false;
  const Handle last = started_[--end];
  paused_.push_back(last);
  given_ += blocks_.would_free(held(last).sequence);
  return last != from;
}

// ---- what of them one step computes
// --------------------------------------------------------------

/// MicroBatchScheduler.
void TrtllmScheduler::form_batch() {
  prompts_.clear();
  decodes_.clear();
  std::uint64_t tokens = 0;
  const std::uint32_t budget = config_.max_num_batched_tokens;
  for (const Chosen& chosen : chosen_) {
    if (prompts_.size() + decodes_.size() >= config_.max_num_seqs) break;
    const Handle h = chosen.request;
    if (decodes(h)) {
      if (tokens + 1 > budget) break;
      ++tokens;
      decodes_.push_back(h);
      continue;
    }
    const std::uint32_t rest = held(h).context - requests_[h].computed;
    if (!config_.chunked_prefill) {
      const std::uint32_t cost = std::max(1U, rest - std::min(rest, chosen.estimate));
      if (tokens + cost > budget) break;
      tokens += cost;
    }
    prompts_.push_back({h, rest, chosen.estimate});
  }
  if (config_.chunked_prefill) cut_prompts(budget - static_cast<std::uint32_t>(tokens));
}

/// Where not all fit, in turn as much as is left, in whole blocks (kFIRST_COME_FIRST_SERVED).
void TrtllmScheduler::cut_prompts(std::uint32_t room) {
  std::uint64_t sum = 0;
  const auto cost = [](const Part& part) {
    return part.tokens - std::min(part.tokens, part.estimate);
  };
  for (const Part& part : prompts_) sum += cost(part);
  if (sum <= room) return;
  const auto unfinished = [&](const Part& part) {
    return part.tokens < held(part.request).context - requests_[part.request].computed;
  };
  for (Part& part : prompts_) {
    const std::uint32_t whole = cost(part);
    if (whole > room) part.tokens = room / page() * page();
    room -= std::min(part.tokens, whole);
  }
  std::erase_if(prompts_, [](const Part& part) { return part.tokens == 0; });
  std::stable_partition(prompts_.begin(), prompts_.end(), unfinished);
}

// ---- carrying it out
// -----------------------------------------------------------------------------

/// What it has computed stays to be found, as far as nobody needs the room.
void TrtllmScheduler::pause(Handle h, Time now, StepPlan& plan) {
  Held& d = held(h);
  blocks_.store(d.sequence, requests_[h].computed, true);
  blocks_.release(d.sequence, now);
  begin_again(h, now, plan);
}

void TrtllmScheduler::begin_again(Handle h, Time now, StepPlan& plan) {
  ActiveRequest& r = requests_[h];
  leave_started(h);
  held(h).context = r.tokens();
  r.computed_peak = std::max(r.computed_peak, r.computed);
  r.computed = 0;
  preempted(h, now, plan);
}

void TrtllmScheduler::preempted(Handle h, Time now, StepPlan& plan) {
  ActiveRequest& r = requests_[h];
  r.state = RequestState::kPreempted;
  ++r.preemptions;
  r.clock.preempt(now);
  plan.preempted.push_back(h);
  plan.starved = true;
  observer_.on_preemption(now, r.id);
}

/// In its place by arrival.
void TrtllmScheduler::requeue(Handle h) {
  waiting_.push_front(h);
  for (std::size_t i = 0; i + 1 < waiting_.size() && order(waiting_[i + 1]) < order(h); ++i) {
    std::swap(waiting_[i], waiting_[i + 1]);
  }
}

void TrtllmScheduler::compute_prompts(Time now, StepPlan& plan) {
  for (const Part& part : prompts_) {
    const Handle h = part.request;
    std::uint32_t tokens = part.tokens;
    copies_.allocate_for(h);
    if (held(h).sequence.held() == 0 && !start(h, now, tokens)) {
      plan.starved = true;  // Model: upstream throws
      continue;
    }
    const ActiveRequest& r = requests_[h];
    tokens = std::min(tokens, held(h).context - r.computed);
    const bool ends = r.computed + tokens == held(h).context;
    plan.items.push_back({h, tokens, r.computed, ends});
  }
}

/// Its blocks, if there is room; a first chunk ends with a block.
bool TrtllmScheduler::start(Handle h, Time now, std::uint32_t& tokens) {
  Held& d = held(h);
  ActiveRequest& r = requests_[h];
  const auto admission = blocks_.admit(d.sequence, d.context, now);
  if (!admission) return false;
  r.computed = admission->computed;
  if (r.computed > 0 && r.computed + tokens < d.context) {
    tokens = (r.computed + tokens) / page() * page() - r.computed;
  }
  count_admission(r, *admission);
  r.state = RequestState::kRunning;
  if (r.scheduled == kNever) r.scheduled = now;
  put_into_started(h);
  return true;
}

void TrtllmScheduler::put_into_started(Handle h) {
  const auto at = std::lower_bound(started_.begin(), started_.end(), order(h),
                                   [&](Handle a, std::uint64_t o) { return order(a) < o; });
  started_.insert(at, h);
}

/// Those that have begun wait no longer.
void TrtllmScheduler::take_from_waiting() {
  std::size_t kept = asked_;
  for (std::size_t i = asked_; i-- > 0;) {
    if (held(waiting_[i]).sequence.held() == 0) waiting_[--kept] = waiting_[i];
  }
  for (; kept > 0; --kept) waiting_.pop_front();
}

void TrtllmScheduler::compute_decodes(StepPlan& plan) {
  for (const Handle h : decodes_) {
    const ActiveRequest& r = requests_[h];
    Sequence& s = held(h).sequence;
    if (blocks_.blocks_of(r.tokens()) > s.held()) {
      if (tree_.free_blocks() == 0) {
        plan.starved = true;  // Model: upstream throws
        continue;
      }
      copies_.allocate_for(h);
      blocks_.grow(s);
    }
    plan.items.push_back({h, 1, r.computed, true});
  }
}

void TrtllmScheduler::apply(StepPlan& plan) {
  for (const ScheduledTokens& item : plan.items) {
    requests_[item.request].computed = item.computed + item.tokens;
  }
}

void TrtllmScheduler::count_admission(ActiveRequest& r,
                                      const SequenceBlocks::Admission& admission) {
  OffloadCounters& below = copies_.counts();
  ExchangeStats& disk = copies_.disk_counts();
  const std::uint32_t gpu = admission.found[0] / page();
  const std::uint32_t host = admission.found[1] / page();
  const std::uint32_t behind = admission.found[2] / page();
  if (r.admitted_before) {
    counters_.hits_resumed += gpu;
    below.hits_resumed += host;
    disk.hits_resumed += behind;
    return;
  }
  const std::uint32_t asked = (r.prompt - 1) / page();
  counters_.queries += asked;
  counters_.hits += gpu;
  below.queries += asked - std::min(asked, gpu);
  below.hits += host;
  disk.queries += asked - std::min(asked, gpu + host);
  disk.hits += behind;
  std::copy(admission.found.begin(), admission.found.end(), r.cached_tokens.begin());
  r.admitted_before = true;
}

// ---- what others ask
// -----------------------------------------------------------------------------

TierLevel TrtllmScheduler::level(std::uint32_t) const {
  const ReuseTree::Counters& c = tree_.counters(0);
  return {c.entered, c.left, static_cast<std::uint32_t>(c.resident), tree_.used_blocks()};
}

void TrtllmScheduler::report(EngineStats& stats) const {
  stats.prefix = counters_;
  stats.hbm_evictions = tree_.counters(0).left;
}

void TrtllmScheduler::check_drained() const {
  KV_ASSERT(started_.empty(), "{} requests have not ended", started_.size());
  tree_.check_drained();
}

/// All that are here: what holds blocks is as stuck as what waits, when nothing can be computed.
std::vector<Handle> TrtllmScheduler::queued() const {
  std::vector<Handle> out = started_;
  for (std::size_t i = 0; i < waiting_.size(); ++i) out.push_back(waiting_[i]);
  std::sort(out.begin(), out.end(), [&](Handle a, Handle b) { return order(a) < order(b); });
  return out;
}

Standstill TrtllmScheduler::standstill() const {
  Standstill out;
  const std::vector<Handle> all = queued();
  if (all.empty()) return out;
  const ActiveRequest& r = requests_[all.front()];
  out.head = r.id;
  out.tokens = r.tokens();
  out.holds = held(r.handle).sequence.held();
  out.free = tree_.free_blocks();
  out.usable = config_.num_gpu_blocks;
  out.budget = config_.max_num_batched_tokens;
  if (!config_.chunked_prefill && out.tokens > out.budget) {
    out.kind = Standstill::Kind::kOverBudget;
  }
  return out;
}

}  // namespace spillway
