#include "models/engine/schedulers/vllm_scheduler.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace spillway {

VllmScheduler::VllmScheduler(const Environment& environment)
    : QueueScheduler(environment.requests, environment.observer, environment.rules,
                     environment.step),
      env_(environment),
      watermark_blocks_(static_cast<std::uint32_t>(
          std::floor(environment.config.watermark * environment.config.num_gpu_blocks))),
      listeners_(environment.chains) {
  KV_ASSERT(recomputes() && rules_.requeue == Requeue::kFront && step_.mixed,
            "rules of another family");
  found_.hits.reserve(
      std::min(env_.pool.usable(), env_.chains.longest_chain() * env_.config.groups.count()));
  if (env_.config.groups.hybrid()) {
    groups_ = std::make_unique<GroupedBlocks>(
        GroupedBlocks::Environment{env_.config, env_.chains, requests_, env_.pool});
  }
  listeners_.add(&env_.pool.policy(), 1);
  listeners_.add(env_.connector.policy(), env_.config.blocks_per_chunk);
}

/// The last token's KV is never stored, so P + O - 1 tokens have to fit.
std::uint64_t VllmScheduler::blocks_of(const ActiveRequest& r) const {
  return most_pages(env_.config, std::uint64_t{r.prompt} + r.output - 1);
}

void VllmScheduler::schedule(Time now, StepPlan& plan) {
  begin(plan);
  env_.pool.begin_step();
  budget_ = step_.tokens;
  refusal_.valid = false;
  schedule_running(now, plan);
  if (victims_.empty()) return schedule_waiting(now, plan);
  requeue();
}

void VllmScheduler::apply(StepPlan& plan) {
  if (!plan.items.empty()) ++steps_scheduled_;
  for (ScheduledTokens& item : plan.items) {
    ActiveRequest& r = requests_[item.request];
    r.last_step = steps_scheduled_;
    r.computed += item.tokens;
    item.samples = r.computed == r.tokens() + r.placeholders;
    if (!item.samples) continue;
    ++r.placeholders;
    if (r.prefilling) set_prefilling(item.request, false);
  }
  if (groups_ == nullptr) return;
  for (const ScheduledTokens& item : plan.items) {
    groups_->tokens_begin(requests_[item.request].id, item.tokens);
  }
}

/// Nothing writes any longer what the step wrote: blocks held back for it become free, before those
/// of the requests that end with it.
void VllmScheduler::on_step_end(StepPlan& plan, Time now) {
  ++steps_ended_;
  if (groups_ != nullptr) {  // their pages may be given back up to here
    for (const ScheduledTokens& item : plan.items) {
      groups_->tokens_end(requests_[item.request].id, item.tokens);
    }
  }
  while (!held_back_.empty() && held_back_.front().step <= steps_ended_) {
    HeldBack& freed = held_back_.front();
    release(freed.slots, {now, freed.request});
    requests_.take_back(std::move(freed.slots));
    held_back_.pop_front();
  }
}

void VllmScheduler::collect(ActiveRequest& r) {
  ++r.generated;
  if (r.placeholders == 0) return;  // preempted meanwhile: the token counts, its KV is gone
  --r.placeholders;
  register_full(r, r.computed - r.placeholders);
}

// ---- running
// -------------------------------------------------------------------------------------

void VllmScheduler::schedule_running(Time now, StepPlan& plan) {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    const Handle h = running_[i];
    ActiveRequest& r = requests_[h];
    if (r.last_token_in_flight()) continue;
    const std::uint32_t ahead = step_.ahead ? r.placeholders : 0;
    std::uint32_t tokens = std::min(step_.capped(r.tokens() + ahead - r.computed), budget_);
    if (step_.longest > 0) tokens = std::min(tokens, step_.longest - 1 - r.computed);
    if (tokens == 0) continue;
    const Access access{now, r.id};
    while (!grow(r, tokens, access)) {
      const std::size_t at = victim(running_.size());
      const Handle chosen = running_[at];
      if (at < i) {  // the walk has passed it
        take_from(plan, chosen);
        --i;
      }
      preempt(at, now, plan);
      if (chosen == h) return;
    }
    budget_ -= tokens;
    plan.items.push_back({h, tokens, r.computed});
  }
}

/// Slots for `tokens` more tokens of a running request; false when too few are free.
bool VllmScheduler::grow(ActiveRequest& r, std::uint32_t tokens, const Access& access) {
  if (groups_ != nullptr) return groups_->grow(r, tokens, access);
  const std::uint32_t wanted = blocks_for(r.computed + tokens);
  const auto held = static_cast<std::uint32_t>(r.slots.size());
  if (wanted > held) {
    if (wanted - held > env_.pool.free()) return false;
    for (std::uint32_t i = held; i < wanted; ++i) r.slots.push_back(env_.pool.take(access));
  }
  register_full(r, r.computed + tokens);
  return true;
}

/// A request preempted after this step gave it tokens: they are there for others again. Blocks that
/// these tokens would have filled stay in the prefix cache as if they had, as upstream.
void VllmScheduler::take_from(StepPlan& plan, Handle h) {
  const auto it = std::find_if(plan.items.begin(), plan.items.end(),
                               [h](const ScheduledTokens& item) { return item.request == h; });
  if (it == plan.items.end()) return;
  budget_ += it->tokens;
  plan.items.erase(it);
  env_.pool.forget_given(requests_[h].slots);
}

/// Its blocks become free: at once, or where a step in flight may write them and they could be
/// loaded into meanwhile, when that step ends. The caller then gains nothing by this victim and
/// takes the next one, down to the request that wanted the blocks (vLLM issue 49674).
void VllmScheduler::free_blocks(ActiveRequest& r, Time now) {
  if (rules_.fate == KvFate::kDroppedAfterStep && r.last_step > steps_ended_) {
    held_back_.push_back({steps_scheduled_, r.id, std::move(r.slots)});
    r.slots = {};
    return;
  }
  release(r.slots, {now, r.id});
  r.slots.clear();
}

void VllmScheduler::preempt(std::size_t at, Time now, StepPlan& plan) {
  const Handle h = running_[at];
  ActiveRequest& r = requests_[h];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
  listeners_.tell(&EvictionPolicy::on_release, r, r.registered, {now, r.id});
  r.announced = false;
  free_blocks(r, now);
  if (r.prefilling) set_prefilling(h, false);
  lose(h, now, plan);
}

// ---- waiting
// -------------------------------------------------------------------------------------

void VllmScheduler::schedule_waiting(Time now, StepPlan& plan) {
  set_aside_.clear();
  while ((!apart_.empty() || !waiting_.empty()) && budget_ > 0 &&
         running_.size() < step_.requests) {
    RequestQueue& queue = next_queue();
    const Handle h = queue.front();
    const Verdict verdict = consider(h, now, plan);
    if (verdict == Verdict::kStop) {
      plan.starved = true;
      break;
    }
    queue.pop_front();
    if (verdict == Verdict::kSetAside) set_aside_.push_back(h);
  }
  for (std::size_t i = set_aside_.size(); i-- > 0;) apart_.push_front(set_aside_[i]);
}

/// Where the next request to consider stands: first come, first served, those set aside go first;
/// by priority, whoever is first.
RequestQueue& VllmScheduler::next_queue() {
  if (apart_.empty()) return waiting_;
  if (rules_.order == QueueOrder::kArrival || waiting_.empty()) return apart_;
  return waiting_.precedes(apart_) ? waiting_ : apart_;
}

VllmScheduler::Verdict VllmScheduler::consider(Handle h, Time now, StepPlan& plan) {
  ActiveRequest& r = requests_[h];
  const Access access{now, r.id};
  if (r.state == RequestState::kLoading) {
    if (!r.load_done && !runs_behind_load(env_.config.load)) return Verdict::kSetAside;
    promote(r, access);
  }
  const bool resumed = r.computed > 0;  // from a load: it holds its blocks
  if (resumed) {
    forget_found();
  } else {
    look_up(h, access);
    plan.lookups += r.offload ? 1 : 0;  // one whose answer is kept here is asked again upstream
    if (!found_.known) {
      ++plan.deferrals;
      return Verdict::kSetAside;
    }
  }
  if (!r.announced) {  // once each time it is to be admitted
    r.announced = true;
    listeners_.tell(&EvictionPolicy::on_lookup, r, r.tokens() / env_.config.block_tokens, access);
    if (r.offload) {
      env_.connector.note_lookup(r, found_.local());
    }
  }
  const bool loads = found_.external > 0;
  const bool parks = loads && !runs_with_load(env_.config.load);
  std::uint32_t before =
      resumed ? r.computed : (found_.local() + found_.external) * env_.config.block_tokens;
  if (!parks) before = std::min(before, r.tokens() - 1);  // at least one token is computed
  const std::uint32_t wanted = parks ? 0 : step_.capped(r.tokens() - before);
  const std::uint32_t tokens = std::min(wanted, budget_);
  const bool cut = tokens < wanted && !step_.chunked;
  if (cut || !admit(r, {before, tokens, parks}, access)) {
    refusal_.valid = true;
    refusal_.request = h;
    refusal_.budget = cut;
    if (!resumed) remember_blocked(h);
    return Verdict::kStop;
  }
  blocked_.valid = false;
  if (!resumed) count_admission(r, now);
  r.computed = before;
  if (loads) env_.connector.plan_load(h, found_.local(), found_.external);
  if (parks) {
    r.state = RequestState::kLoading;
    set_prefilling(h, true);
    plan.load_started = true;
    return Verdict::kSetAside;
  }
  r.state = RequestState::kRunning;
  if (r.preemptions == 0) r.scheduled = now;
  running_.push_back(h);
  budget_ -= tokens;
  plan.items.push_back({h, tokens, r.computed});
  const bool unfinished = r.computed + tokens < r.tokens();
  if (unfinished != r.prefilling) set_prefilling(h, unfinished);
  return Verdict::kAdmitted;
}

/// Fills found_. The result for a blocked head is kept: nothing it rests on has changed, and the
/// touch of its blocks below would leave their order as it is.
void VllmScheduler::look_up(Handle h, const Access& access) {
  const std::uint64_t version = env_.connector.version();
  if (blocked_.valid && blocked_.request == h && blocked_.below_version == version &&
      !env_.pool.watched_changed()) {
    return;
  }
  forget_found();
  const ActiveRequest& r = requests_[h];
  find_local(r);
  if (r.offload) {
    const auto below = env_.connector.look_up(r, found_.local(), access);
    found_.external = below.blocks;
    found_.known = below.known;
    choose(r, access.now);
  }
}

/// Declines the load where computing is expected to take less time.
void VllmScheduler::choose(const ActiveRequest& r, Time now) {
  if (found_.external == 0) return;
  const std::uint32_t local = found_.local() * env_.config.block_tokens;
  if (env_.load_choice.loads({local, found_.external, r.tokens()}, now)) return;
  std::swap(found_.declined, found_.external);
}

void VllmScheduler::forget_found() {
  blocked_.valid = false;
  found_.hits.clear();
  found_.hit_blocks = 0;
  found_.idle = 0;
  found_.missed = kNoBlock;
  found_.external = 0;
  found_.declined = 0;
  found_.known = true;
}

void VllmScheduler::remember_blocked(Handle h) {
  if (blocked_.valid || groups_ != nullptr) return;  // with groups, every step looks again
  env_.pool.watch(found_.hits, found_.missed);
  blocked_ = {true, h, env_.connector.version()};
}

/// Walks the chain from its root to the first block that HBM does not hold. The last token is
/// always computed, so an aligned prompt that is fully cached recomputes its whole last block.
void VllmScheduler::find_local(const ActiveRequest& r) {
  if (groups_ != nullptr) {
    found_.hit_blocks = groups_->find_local(r, found_.hits);
    return;
  }
  if (!env_.config.enable_prefix_caching) return;
  const std::uint32_t limit = (r.tokens() - 1) / env_.config.block_tokens;
  env_.chains.for_runs(r.id, 0, limit, [&](std::uint32_t first, std::uint32_t count) {
    const BlockPlace* block = env_.pool.places(first);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!block[i].here()) {
        found_.missed = BlockId{first + i};
        return false;
      }
      found_.hits.push_back(block[i].slot());
      found_.idle += env_.pool.in_use(found_.hits.back()) ? 0 : 1;
    }
    return true;
  });
  found_.hit_blocks = static_cast<std::uint32_t>(found_.hits.size());
}

/// Hits count when a request is admitted, once: those of preempted ones separately.
void VllmScheduler::count_admission(ActiveRequest& r, Time now) {
  if (r.preemptions > 0) {
    counters_.hits_resumed += found_.local();
  } else {
    counters_.queries += r.tokens() / env_.config.block_tokens;
    counters_.hits += found_.local();
  }
  if (r.offload) {
    env_.connector.count_admission(r, found_.local(), found_.external);
  }
  if (found_.external > 0) env_.load_choice.on_load(found_.external, now);
  if (found_.declined > 0) env_.load_choice.on_recompute();
  if (r.admitted_before) return;
  r.admitted_before = true;
  r.cached_tokens[0] = found_.local() * env_.config.block_tokens;
  r.cached_tokens[1] = found_.external * env_.config.block_tokens;
  env_.connector.attribute(r, found_.local(), found_.external);
}

/// Slots for a waiting request: its local hit, room for the blocks to load, and its new tokens.
/// False when it does not fit, with nothing changed.
bool VllmScheduler::admit(ActiveRequest& r, const Admission& a, const Access& access) {
  if (groups_ != nullptr) return admit_grouped(r, a, access);
  const std::uint32_t local = found_.local();
  const auto held = static_cast<std::uint32_t>(r.slots.size()) + local;
  const auto needed = [&](std::uint32_t total_tokens) {
    const std::uint32_t blocks = blocks_for(total_tokens);
    return (blocks > held ? blocks - held : 0) + found_.idle + watermark();
  };
  const std::uint32_t free = env_.pool.free();
  const auto refuse = [&](std::uint32_t blocks, std::uint32_t reserved) {
    refusal_.needed = blocks;
    refusal_.reserved = reserved;
    return false;
  };
  if (rules_.admit == AdmitRule::kKnownTokens && needed(r.tokens()) > free) {
    return refuse(needed(r.tokens()), 0);
  }
  const std::uint32_t now_needed = needed(a.known + a.tokens);
  const std::uint32_t reserved = a.parks && rules_.loads_leave_room ? reserved_blocks() : 0;
  if (std::uint64_t{now_needed} + reserved > free) return refuse(now_needed, reserved);

  requests_.lend_slots(r);
  env_.pool.note_given(r.slots);  // what a promoted request holds is handed to the worker now
  if (local > 0) {
    env_.pool.share(found_.hits);
    r.slots.insert(r.slots.end(), found_.hits.begin(), found_.hits.end());
    r.registered = local;
  }
  const std::uint32_t wanted = blocks_for(a.known + a.tokens);
  while (r.slots.size() < wanted) r.slots.push_back(env_.pool.take(access));
  if (!a.parks) register_full(r, a.known + a.tokens);
  return true;
}

bool VllmScheduler::admit_grouped(ActiveRequest& r, const Admission& a, const Access& access) {
  const std::uint32_t reserved = a.parks && rules_.loads_leave_room ? reserved_blocks() : 0;
  const GroupedBlocks::Admission wanted{a.known,
                                        a.tokens,
                                        found_.external,
                                        watermark(),
                                        reserved,
                                        a.parks,
                                        rules_.admit == AdmitRule::kKnownTokens};
  if (groups_->admit(r, wanted, found_.hits, access)) return true;
  refusal_.needed = groups_->asked();
  refusal_.reserved = reserved;
  return false;
}

/// Its load has ended: the loaded blocks enter the prefix cache, and at least one token is
/// computed. Where none of them came and it has no others, it looks for them again.
void VllmScheduler::promote(ActiveRequest& r, const Access& access) {
  r.state = r.preemptions > 0 ? RequestState::kPreempted : RequestState::kWaiting;
  r.load_done = false;
  if (r.computed == 0) return give_up_load(r, access);
  register_full(r, r.computed);
  if (r.computed == r.tokens()) --r.computed;
}

/// What it held for blocks that did not come becomes free.
void VllmScheduler::give_up_load(ActiveRequest& r, const Access& access) {
  release(r.slots, access);
  r.slots.clear();
  set_prefilling(r.handle, false);
}

bool VllmScheduler::finish(Handle h, Time now) {
  ActiveRequest& r = requests_[h];
  if (r.state == RequestState::kLoading) {  // its load failed
    listeners_.tell(&EvictionPolicy::on_release, r, r.registered, {now, r.id});
    give_up_load(r, {now, r.id});
    withdraw(h);
    r.state = RequestState::kFinished;
    return false;
  }
  const bool ran = r.state == RequestState::kRunning;
  if (ran) {
    if (r.prefilling) set_prefilling(h, false);  // its load failed
    stop_running(h);
    listeners_.tell(&EvictionPolicy::on_release, r, r.registered, {now, r.id});
    if (!env_.connector.holds_finished()) release(r.slots, {now, r.id});
  } else {
    const bool there = waiting_.erase(h);
    KV_ASSERT(there, "request {} ended and is nowhere", raw(r.id));
  }
  r.state = RequestState::kFinished;
  return ran;
}

void VllmScheduler::let_go(Handle h, Time now) {
  ActiveRequest& r = requests_[h];
  release(r.slots, {now, r.id});
}

void VllmScheduler::roll_back(Handle h, std::uint32_t computed, bool sampled) {
  ActiveRequest& r = requests_[h];
  r.computed = computed;
  if (sampled) --r.placeholders;
  if (!r.prefilling) set_prefilling(h, true);
}

void VllmScheduler::withdraw(Handle h) {
  if (blocked_.request == h) blocked_.valid = false;
  QueueScheduler::withdraw(h);
}

// ---- small parts
// ---------------------------------------------------------------------------------

/// Blocks that hold so many tokens.
std::uint32_t VllmScheduler::blocks_for(std::uint32_t tokens) const {
  const std::uint32_t held = step_.longest > 0 ? std::min(tokens, step_.longest) : tokens;
  return (held + env_.config.block_tokens - 1) / env_.config.block_tokens;
}

/// What the prefills and loads under way still need until their whole sequence is held.
std::uint32_t VllmScheduler::reserved_blocks() const {
  std::uint32_t sum = 0;
  for (const Handle h : prefilling_) {
    const ActiveRequest& r = requests_[h];
    if (groups_ != nullptr) {
      sum += groups_->outstanding(r);
      continue;
    }
    const std::uint32_t whole = blocks_for(r.tokens());
    sum += whole - std::min(whole, static_cast<std::uint32_t>(r.slots.size()));
  }
  return sum;
}

/// The blocks that `tokens` tokens fill enter the prefix cache (tokens not yet known do not count).
void VllmScheduler::register_full(ActiveRequest& r, std::uint32_t tokens) {
  if (!env_.config.enable_prefix_caching) return;
  const std::uint32_t full = std::min(tokens, r.tokens()) / env_.config.block_tokens;
  if (full <= r.registered) return;
  if (groups_ != nullptr) return groups_->register_full(r, tokens);
  std::uint32_t at = r.registered;
  env_.chains.for_runs(r.id, at, full, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      env_.pool.register_block(r.slots[at++], BlockId{first + i});
    }
    return true;
  });
  r.registered = full;
}

/// One user less of a request's blocks.
void VllmScheduler::release(const std::vector<SlotId>& slots, const Access& access) {
  if (groups_ != nullptr) return groups_->release(slots, access);
  env_.pool.release(slots, access);
}

void VllmScheduler::set_prefilling(Handle h, bool on) {
  requests_[h].prefilling = on;
  if (on) {
    prefilling_.push_back(h);
    return;
  }
  const auto it = std::find(prefilling_.begin(), prefilling_.end(), h);
  *it = prefilling_.back();
  prefilling_.pop_back();
}

void VllmScheduler::report(EngineStats& stats) const {
  stats.prefix = counters_;
  stats.hbm_evictions = env_.pool.evictions();
  env_.load_choice.report(stats);
}

/// The last walk stopped at its head or, where it found no such, put off every look-up.
Standstill VllmScheduler::standstill() const {
  Standstill out;
  const std::vector<Handle> queue = queued();
  const bool stopped = refusal_.valid;
  const Handle head = stopped ? refusal_.request : queue.front();
  const ActiveRequest& r = requests_[head];
  out.head = r.id;
  out.tokens = r.tokens();
  out.holds = GroupedBlocks::pages_in(r.slots);
  out.free = env_.pool.free();
  out.usable = env_.pool.usable();
  out.budget = step_.tokens;
  for (const Handle h : queue) {
    const ActiveRequest& other = requests_[h];
    if (h == head || other.slots.empty()) continue;
    out.others.push_back({other.id, GroupedBlocks::pages_in(other.slots)});
  }
  if (!stopped) {
    out.kind = Standstill::Kind::kUnansweredLookup;
    return out;
  }
  out.needs = refusal_.needed;
  out.reserved = refusal_.reserved;
  if (refusal_.budget) {
    out.kind = Standstill::Kind::kOverBudget;
  } else if (out.others.empty()) {
    out.kind = Standstill::Kind::kNeverFits;
  } else {
    out.kind = out.holds > 0 ? Standstill::Kind::kMutualLoads : Standstill::Kind::kStrandedLoads;
  }
  return out;
}

}  // namespace spillway
