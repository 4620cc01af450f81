#include "models/engine/schedulers/streaming_scheduler.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

StreamingScheduler::StreamingScheduler(const Environment& environment)
    : QueueScheduler(environment.requests, environment.observer, {}, environment.step),
      env_(environment),
      listeners_(environment.chains) {
  listeners_.add(&env_.store.policy(), 1);
  listeners_.add(&env_.store.lower_policy(), 1);
  chain_.reserve(env_.chains.longest_chain());
}

// ---- what a sequence takes
// -----------------------------------------------------------------------

/// The last token's KV is never stored, so P + O - 1 tokens count.
bool StreamingScheduler::lossy(const ActiveRequest& r) const {
  const std::uint32_t budget = env_.streaming.token_budget;
  return budget > 0 && r.prompt + r.output - 1 > budget;
}

StreamingScheduler::Extent StreamingScheduler::extent_of(const ActiveRequest& r) const {
  const std::uint32_t block = env_.block_tokens;
  const std::uint32_t all = blocks_for(r, r.prompt + r.output - 1);
  if (lossy(r)) return {0, all, all};
  const std::uint32_t named = std::min(all, (r.prompt + r.output) / block);
  return {named, all - named, 1};
}

std::uint64_t StreamingScheduler::blocks_of(const ActiveRequest& r) const {
  return extent_of(r).blocks();
}

Reason StreamingScheduler::refuses(const ActiveRequest& r) const {
  const Extent extent = extent_of(r);
  const bool fits =
      extent.blocks() <= env_.store.capacity() && extent.pinned < env_.store.usable();
  return fits ? Reason::kNone : Reason::kExceedsPool;
}

/// Blocks that hold what is kept of so many tokens.
std::uint32_t StreamingScheduler::blocks_for(const ActiveRequest& r, std::uint32_t tokens) const {
  if (lossy(r)) tokens = std::min(tokens, env_.streaming.token_budget);
  return (tokens + env_.block_tokens - 1) / env_.block_tokens;
}

// ---- a step
// --------------------------------------------------------------------------------------

void StreamingScheduler::schedule(Time now, StepPlan& plan) {
  begin(plan);
  budget_ = step_.tokens;
  schedule_running(now, plan);
  schedule_waiting(now, plan);
  plan.starved = head_blocked_;
  read_chains(now, plan);
}

void StreamingScheduler::schedule_running(Time now, StepPlan& plan) {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    const Handle h = running_[i];
    ActiveRequest& r = requests_[h];
    const std::uint32_t tokens = fitting(r, r.tokens() - r.computed);
    if (tokens == 0) continue;
    grow(r, tokens, {now, r.id});
    budget_ -= tokens;
    plan.items.push_back({h, tokens, r.computed});
  }
}

void StreamingScheduler::schedule_waiting(Time now, StepPlan& plan) {
  while (!waiting_.empty() && !head_blocked_ && budget_ > 0 && running_.size() < step_.requests) {
    const Handle h = waiting_.front();
    ActiveRequest& r = requests_[h];
    const Access access{now, r.id};
    const Extent extent = extent_of(r);
    head_blocked_ = !fits(r, extent);
    if (head_blocked_) return;
    const Hits hits = look_up(r, extent);
    r.computed = hits.all() * env_.block_tokens;
    const std::uint32_t tokens = fitting(r, r.tokens() - r.computed);
    if (tokens == 0) {
      r.computed = 0;
      return;
    }
    waiting_.pop_front();
    listeners_.tell(&EvictionPolicy::on_lookup, r, r.tokens() / env_.block_tokens, access);
    env_.chains.for_runs(r.id, 0, extent.named, [&](std::uint32_t first, std::uint32_t count) {
      env_.store.claim(first, count);
      return true;
    });
    nameless_ += extent.nameless;
    pinned_ += extent.pinned;
    count_admission(r, hits);
    r.registered = hits.all();
    r.state = RequestState::kRunning;
    r.scheduled = now;
    running_.push_back(h);
    requests_.lend_slots(r);
    grow(r, tokens, access);
    budget_ -= tokens;
    plan.items.push_back({h, tokens, r.computed});
  }
}

bool StreamingScheduler::fits(const ActiveRequest& r, const Extent& extent) const {
  if (pinned_ + extent.pinned >= env_.store.usable()) return false;
  std::uint64_t wanted = env_.store.claimed() + (nameless_ - nameless_taken_) + extent.nameless;
  env_.chains.for_runs(r.id, 0, extent.named, [&](std::uint32_t first, std::uint32_t count) {
    wanted += env_.store.unclaimed(first, count);
    return true;
  });
  return wanted <= env_.store.capacity();
}

/// From the root to the first block that no tier holds. The last token is always computed.
StreamingScheduler::Hits StreamingScheduler::look_up(const ActiveRequest& r,
                                                     const Extent& extent) const {
  Hits hits;
  const std::uint32_t limit = std::min(extent.named, (r.tokens() - 1) / env_.block_tokens);
  env_.chains.for_runs(r.id, 0, limit, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const BlockId id{first + i};
      if (!env_.store.found(id)) return false;
      ++(env_.store.in_hbm(id) ? hits.hbm : hits.below);
    }
    return true;
  });
  return hits;
}

void StreamingScheduler::count_admission(ActiveRequest& r, const Hits& hits) {
  const std::uint32_t block = env_.block_tokens;
  counters_.queries += r.tokens() / block;
  counters_.hits += hits.hbm;
  below_.queries += r.tokens() / block - hits.hbm;
  below_.hits += hits.below;
  r.admitted_before = true;
  r.cached_tokens = {hits.hbm * block, hits.below * block};
}

/// How many of `tokens` the request may compute in this step: within the budget, and with an HBM
/// slot for each block that it fills.
std::uint32_t StreamingScheduler::fitting(const ActiveRequest& r, std::uint32_t tokens) const {
  tokens = std::min(step_.capped(tokens), budget_);
  const std::uint32_t free = env_.store.usable() - 1 - env_.store.pinned();
  const std::uint32_t held = blocks_for(r, r.computed);
  if (blocks_for(r, r.computed + tokens) <= held + free) return tokens;
  return (held + free) * env_.block_tokens - r.computed;
}

void StreamingScheduler::grow(ActiveRequest& r, std::uint32_t tokens, const Access& access) {
  const std::uint32_t held = blocks_for(r, r.computed);
  const std::uint32_t wanted = blocks_for(r, r.computed + tokens);
  const std::uint32_t named = extent_of(r).named;
  const std::uint32_t end = std::min(wanted, named);
  env_.chains.for_runs(r.id, held, end, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) env_.store.begin_fill(BlockId{first + i}, access);
    return true;
  });
  for (std::uint32_t i = std::max(held, end); i < wanted; ++i) {
    r.slots.push_back(env_.store.take_nameless(access));
    ++nameless_taken_;
  }
}

void StreamingScheduler::read_chains(Time now, StepPlan& plan) {
  const bool selects = env_.streaming.cold.selected_ppm < kWholeShare;
  for (ScheduledTokens& item : plan.items) {
    const ActiveRequest& r = requests_[item.request];
    const Access access{now, r.id};
    const bool decodes = item.computed >= r.prompt;
    const bool bring_up = !decodes || !selects;
    env_.chains.for_runs(r.id, 0, r.registered, [&](std::uint32_t first, std::uint32_t count) {
      item.cold += env_.store.read(first, count, bring_up, access);
      return true;
    });
    (decodes ? plan.cold_decode : plan.cold_prefill) += item.cold;
  }
  plan.moved_down = env_.store.take_moved_down();
}

void StreamingScheduler::on_step_end(StepPlan& plan, Time now) {
  tell_reads(plan);
  for (const ScheduledTokens& item : plan.items) {
    ActiveRequest& r = requests_[item.request];
    if (!lossy(r)) end_fill(r, {now, r.id});
  }
  env_.link.write_down(env_.store.take_moved_down());
}

/// What decodes read from below, page caches on the GPU apart.
void StreamingScheduler::tell_reads(const StepPlan& plan) const {
  const ColdDecode& cold = env_.streaming.cold;
  const auto share = static_cast<std::uint64_t>(cold.selected_ppm) *
                     static_cast<std::uint64_t>(kWholeShare - cold.page_cache_ppm);
  for (const ScheduledTokens& item : plan.items) {
    const ActiveRequest& r = requests_[item.request];
    if (item.computed < r.prompt || r.arrival < env_.measure_from) continue;
    env_.observer.on_cold_decode(item.cold * share / static_cast<std::uint64_t>(kWholeShare));
  }
}

void StreamingScheduler::tell_needed(Time now, Observer& observer) const {
  const StreamingStore::Needed needed = env_.store.needed();
  observer.on_needed_blocks({now, needed.blocks, needed.in_hbm, needed.below_only});
}

void StreamingScheduler::report(EngineStats& stats) const {
  stats.prefix = counters_;
  stats.offload = below_;
}

/// The blocks that this step filled become evictable, the chain's tail the oldest.
void StreamingScheduler::end_fill(ActiveRequest& r, const Access& access) {
  const std::uint32_t block = env_.block_tokens;
  const std::uint32_t full = std::min(r.computed / block, extent_of(r).named);
  if (full <= r.registered) return;
  chain_.clear();
  const std::uint32_t from = r.registered;
  env_.chains.for_runs(r.id, from, full, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) chain_.push_back(BlockId{first + i});
    return true;
  });
  std::reverse(chain_.begin(), chain_.end());
  const BlockRange excess = env_.store.policy().excess_of(r.prompt / block);
  // The same range, as places in the reversed piece of the chain.
  const auto place = [&](std::uint64_t i) {
    return i <= from ? full - from : i >= full ? 0 : full - i;
  };
  env_.store.end_fill(chain_, {place(excess.to), place(excess.from)}, access);
  r.registered = full;
  if (r.computed > r.prompt) listeners_.tell(&EvictionPolicy::on_growth, r, full, access);
}

// ---- ends
// ----------------------------------------------------------------------------------------

bool StreamingScheduler::finish(Handle h, Time now) {
  ActiveRequest& r = requests_[h];
  const Access access{now, r.id};
  KV_ASSERT(r.state == RequestState::kRunning, "request {} ends without having run", raw(r.id));
  stop_running(h);
  listeners_.tell(&EvictionPolicy::on_release, r, r.registered, access);
  const Extent extent = extent_of(r);
  const BlockSpan claimed = chain_of(r, extent.named);
  for (std::size_t i = claimed.size(); i-- > 0;) env_.store.unclaim(raw(claimed[i]), 1, access);
  const auto taken = static_cast<std::uint32_t>(r.slots.size());
  env_.store.give_nameless(r.slots);
  r.slots.clear();
  nameless_taken_ -= taken;
  nameless_ -= extent.nameless;
  pinned_ -= extent.pinned;
  head_blocked_ = false;
  r.state = RequestState::kFinished;
  return true;
}

void StreamingScheduler::withdraw(Handle h) {
  head_blocked_ = false;
  QueueScheduler::withdraw(h);
}

/// The request's first `blocks` blocks with ids, into chain_.
BlockSpan StreamingScheduler::chain_of(const ActiveRequest& r, std::uint32_t blocks) {
  chain_.clear();
  env_.chains.for_runs(r.id, 0, blocks, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) chain_.push_back(BlockId{first + i});
    return true;
  });
  return chain_;
}

}  // namespace spillway
