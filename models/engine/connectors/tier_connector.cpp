#include "models/engine/connectors/tier_connector.hpp"

namespace spillway {

void TierConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                    std::uint32_t external) {
  if (r.preemptions > 0) {
    counters_.hits_resumed += external;
    return;
  }
  counters_.queries += r.tokens() / env_.config.block_tokens - local;
  counters_.hits += external;
}

/// What the tiers behind make of a chunk's state. A write to them is no load for others to wait
/// for, and what they hold, or may hold, defers the request.
LookupState TierConnector::state_behind(BlockPlace place, const ChunkAt& chunk,
                                        const ActiveRequest& r, const Access& access) {
  const LookupState state = tier_->state(place);
  if (state == LookupState::kReading && !stack_->loading(place.slot())) return LookupState::kReady;
  if (state != LookupState::kMiss) return state;
  const TierStack::Verdict verdict = stack_->look_up(chunk, r.handle, access);
  return verdict == TierStack::Verdict::kMiss ? LookupState::kMiss : LookupState::kPending;
}

/// Blocks [local, local + external) are loaded: those promoted for this request count for the tier
/// they came from, and each tier was asked for what the nearer ones did not supply.
void TierConnector::attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) {
  if (!has_levels_) return;
  std::uint64_t left = r.tokens() / env_.config.block_tokens - local - external;
  for (std::uint32_t i = local; i < local + external; ++i) {
    if (const std::uint32_t tier = stack_->source(r.id, position_of(i))) {
      r.cached_tokens[1 + tier] += env_.config.block_tokens;
      r.cached_tokens[1] -= env_.config.block_tokens;
    }
  }
  for (std::size_t tier = stack_->size(); tier-- > 0;) {
    const std::uint64_t hits = r.cached_tokens[2 + tier] / env_.config.block_tokens;
    left += hits;
    stack_->count(tier, left, hits);
    counters_.hits -= hits;
  }
}

TierLevel TierConnector::level(std::uint32_t tier) const {
  if (tier == 0 && shared_) {
    const BlockStore::Flow more = tier_->take_flow();
    flow_.stored += more.stored * per_chunk_;
    flow_.evicted += more.evicted * per_chunk_;
    const auto held = static_cast<std::uint32_t>(flow_.stored - flow_.evicted);
    return {flow_.stored, flow_.evicted, held, held};
  }
  if (tier == 0) {
    const std::uint32_t held = tier_->used() * per_chunk_;
    return {tier_->stored() * per_chunk_, tier_->evictions() * per_chunk_, held, held};
  }
  const LevelCounters& c = stack_->settled(tier - 1);
  const auto held = static_cast<std::uint32_t>((c.stored - c.evicted) * per_chunk_);
  return {c.stored * per_chunk_, c.evicted * per_chunk_, held, held};
}

void TierConnector::report(EngineStats& stats) const {
  KvConnector::report(stats);
  if (!has_levels_) return;
  stats.stack = stack_.get();
  stats.levels = stack_->levels();
}

void TierConnector::start_load(ActiveRequest& r, std::uint32_t job, std::uint32_t end) {
  begin_read(jobs_[job].below);
  r.next_store = end;
  r.loads = 1;
  r.load_done = false;
  jobs_.plan_load(job);
  ++counters_.load_jobs;
  if (has_levels_) stack_->on_load(r.id);
}

void TierConnector::plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) {
  jobs_.begin_plan(transfers);
  tier_->end_lookups(threshold_counts_lookups());
  if (has_levels_) stack_->begin_step(now);
  for (const Handle h : plan.preempted) {
    for (const std::uint32_t job : env_.requests[h].stores) jobs_.fence(job);
  }
  if (env_.pool.guarded_given()) fence_given();
  for (const ScheduledTokens& item : plan.items) {
    const ActiveRequest& r = env_.requests[item.request];
    const std::uint32_t tokens = std::min(item.computed + item.tokens, storable_tokens(r));
    if (tokens >= r.next_store * env_.config.block_tokens + chunk_tokens_) {
      offer(item.request, tokens, {now, r.id}, false);
    }
  }
  for (const Handle h : unoffered_) {
    ActiveRequest& r = env_.requests[h];
    // T tokens, though the last one's KV was never computed: upstream does not look either.
    offer(h, storable_tokens(r), {now, r.id}, true);
    r.offered = true;
    recycle_if_gone(h);
  }
  unoffered_.clear();
  look_ahead(now);
  if (has_levels_) stack_->end_step(now);
  jobs_.end_plan();
  if (transfers.fences_pending > 0) ++counters_.flushes;
}

void TierConnector::on_finished(Handle h, bool held) {
  ActiveRequest& r = env_.requests[h];
  for (const std::uint32_t job : r.stores) watch_to_end(job);
  if (held) {
    unoffered_.push_back(h);
  } else {
    r.offered = true;  // it has no blocks left to offer
    recycle_if_gone(h);
  }
}

LookupState TierConnector::state_among_others(BlockPlace place) const {
  const LookupState state = tier_->state(place);
  if (state != LookupState::kPending && state != LookupState::kReading) return state;
  const std::size_t slot = raw(place.slot());
  const std::int16_t own = slot < own_.size() ? own_[slot] : std::int16_t{0};
  if (own != 0) return state;
  return state == LookupState::kPending ? LookupState::kMiss : LookupState::kReady;
}

void TierConnector::begin_write(BlockSpan chunks, std::vector<SlotId>& out) {
  const std::size_t before = out.size();
  tier_->begin_write(chunks, out);
  for (std::size_t i = before; shared_ && i < out.size(); ++i) own_at(out[i]) = kOwnWrite;
}

void TierConnector::end_write(SlotSpan slots, const Access& access) {
  tier_->end_write(slots, access);
  for (std::size_t i = 0; shared_ && i < slots.size(); ++i) own_at(slots[i]) = 0;
}

void TierConnector::begin_read(SlotSpan slots) {
  tier_->begin_read(slots);
  for (std::size_t i = 0; shared_ && i < slots.size(); ++i) ++own_at(slots[i]);
}

void TierConnector::end_read(SlotSpan slots, const Access& access) {
  tier_->end_read(slots, access);
  for (std::size_t i = 0; shared_ && i < slots.size(); ++i) --own_at(slots[i]);
}

bool TierConnector::poll(Time now) {
  return jobs_.take_ended([&](std::uint32_t job) { complete_store(job, now); },
                          [&](std::uint32_t job) { complete_load(job, now); });
}

void TierConnector::complete_load(std::uint32_t job, Time now) {
  ActiveRequest& r = env_.requests[jobs_[job].request];
  end_read(jobs_[job].below, {now, r.id});
  r.loads = 0;
  r.load_done = r.state == RequestState::kLoading;
  recycle_if_gone(jobs_[job].request);
  jobs_.release(job);
}

void TierConnector::recycle_if_gone(Handle h) {
  const ActiveRequest& r = env_.requests[h];
  if (!r.offered || r.transfers_in_flight()) return;
  forget(r.id);
  env_.let_go_of(h);
}

}  // namespace spillway
