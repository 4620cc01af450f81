#include "models/engine/connectors/kvbm/kvbm_connector.hpp"

#include <algorithm>
#include <numeric>

#include "models/chains/local_chains.hpp"
#include "sim/error.hpp"

namespace spillway {

KvbmConnector::Tier::Tier(AttachedTierConfig&& config, SlotPool&& slots, const KvbmConfig& rules,
                          const KvbmPolicies& hop)
    : pool(std::move(slots)),
      policies(hop),
      down(std::move(config.down), rules),
      up(std::move(config.up), rules) {
  if (config.filtered && !rules.v2) filter.emplace(rules);
}

KvbmConnector::KvbmConnector(const Environment& environment, std::vector<AttachedTierConfig> tiers,
                             const Place& place)
    : KvConnector(environment.config, environment.waiter),
      env_(environment),
      place_(place),
      uses_(environment.config.kvbm.use_entries) {
  KV_ASSERT(!tiers.empty() && tiers.size() <= kMostTiers, "{} tiers of KVBM", tiers.size());
  tiers_.reserve(tiers.size());
  const KvbmConfig& rules = environment.config.kvbm;
  for (AttachedTierConfig& tier : tiers) {
    KvbmPolicies hop;
    if (tiers_.empty()) hop = rules.host;
    if (tier.filtered) hop = rules.disk;
    SlotPool pool(tier.slots, rules, uses_, parents_);
    tiers_.emplace_back(std::move(tier), std::move(pool), rules, hop);
  }
}

// ---- look-up
// -------------------------------------------------------------------------------------

/// get_num_new_matched_tokens(), acquire_local_matches() of leader/slot.rs.
KvbmConnector::Hits KvbmConnector::hits_of(const ActiveRequest& r, std::uint32_t local) const {
  Hits hits{};
  const std::uint32_t full = r.tokens() / env_.config.block_tokens;
  if (full <= local) return hits;
  std::size_t tier = 0;
  env_.chains.for_runs(r.id, local, full, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      while (tier < tiers_.size() && !tiers_[tier].pool.has(BlockId{first + i})) ++tier;
      if (tier == tiers_.size()) return false;
      ++hits[tier];
    }
    return true;
  });
  const std::uint32_t all = std::accumulate(hits.begin(), hits.end(), 0U);
  if (all > 0 && (local + all) * env_.config.block_tokens == r.tokens()) {
    --*std::find_if(hits.rbegin(), hits.rend(), [](std::uint32_t n) { return n > 0; });
  }
  return hits;
}

KvConnector::Lookup KvbmConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                           const Access&) {
  const Hits hits = hits_of(r, local);
  return {true, std::accumulate(hits.begin(), hits.end(), 0U)};
}

std::uint64_t KvbmConnector::version() const {
  return std::accumulate(
      tiers_.begin(), tiers_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Tier& tier) { return sum + tier.pool.version(); });
}

/// Each tier is asked for what the nearer ones do not supply.
void KvbmConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                    std::uint32_t external) {
  admitted_ = external > 0 ? hits_of(r, local) : Hits{};
  KV_ASSERT(std::accumulate(admitted_.begin(), admitted_.end(), 0U) == external,
            "request {} is admitted with other blocks than were found", raw(r.id));
  const std::uint32_t full = r.tokens() / env_.config.block_tokens;
  std::uint64_t left = full - std::min(full, local);
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    left = stats_[tier].count_lookup(r.preemptions > 0, left, admitted_[tier]);
  }
}

void KvbmConnector::attribute(ActiveRequest& r, std::uint32_t, std::uint32_t external) {
  if (external == 0) return;
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    r.cached_tokens[1 + tier] = admitted_[tier] * env_.config.block_tokens;
  }
}

// ---- onboarding
// ----------------------------------------------------------------------------------

void KvbmConnector::plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) {
  ActiveRequest& r = env_.requests[h];
  r.next_store = local + blocks;
  r.load_done = false;
  std::uint32_t at = local;
  for (std::uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if (admitted_[tier] == 0) continue;
    const std::uint32_t number = loads_.take();
    Onboard& job = loads_[number];
    job.request = h;
    job.tier = tier;
    job.slots.clear();
    SlotPool& pool = tiers_[tier].pool;
    const auto pin_all = [&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) {
        if (env_.config.kvbm.v2) uses_.use(BlockId{first + i});
        job.slots.push_back(pool.find(BlockId{first + i}));
        pool.pin(job.slots.back());
      }
      return true;
    };
    env_.chains.for_runs(r.id, at, at + admitted_[tier], pin_all);
    at += admitted_[tier];
    ++r.loads;
    ++counters_.load_jobs;
    r.clock.on_load(LoadEvent::kSubmitted, place_.queue.now());
    loading_.push_back(number);
    if (loading_.size() == 1) start_onboard();
  }
}

void KvbmConnector::start_onboard() {
  const Onboard& job = loads_[loading_.front()];
  const Time now = place_.queue.now();
  const auto blocks = static_cast<std::uint32_t>(job.slots.size());
  const Time end = tiers_[job.tier].up.submit(blocks, now, load_);
  if (job.request) env_.requests[*job.request].clock.on_load(LoadEvent::kServed, now);
  begin(Kind::kOnboard, job.tier, end);
}

void KvbmConnector::end_onboard() {
  const std::uint32_t number = loading_.front();
  const Onboard& job = loads_[number];
  observe(load_);
  for (const SlotId slot : job.slots) tiers_[job.tier].pool.unpin(slot);
  if (job.request) {
    ActiveRequest& r = env_.requests[*job.request];
    r.clock.on_load(LoadEvent::kPaused, place_.queue.now());
    r.clock.on_load(LoadEvent::kEnded, place_.queue.now());
    if (--r.loads == 0) loaded_.push_back(*job.request);
  }
  loading_.pop_front();
  loads_.release(number);
  if (!loading_.empty()) start_onboard();
}

// ---- copy-down
// -----------------------------------------------------------------------------------

void KvbmConnector::plan_stores(const StepPlan& plan, Time, StepTransfers& transfers) {
  transfers.clear();
  ++planned_;
  for (const Handle h : plan.preempted) env_.requests[h].next_store = 0;
  for (const ScheduledTokens& item : plan.items) offer(item);
  go_on_copying();
}

/// build_connector_metadata() of leader.rs, apply_scheduler_output() of slot.rs.
void KvbmConnector::offer(const ScheduledTokens& item) {
  ActiveRequest& r = env_.requests[item.request];
  const std::uint32_t block = env_.config.block_tokens;
  const std::uint32_t first = std::max(r.next_store, item.computed / block);
  const std::uint32_t end = std::min(item.computed + item.tokens, r.store_limit) / block;
  if (end <= first) return;
  r.next_store = end;
  offered_.clear();
  env_.chains.for_runs(r.id, first, end, [&](std::uint32_t id, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) offered_.push_back(BlockId{id + i});
    return true;
  });
  std::size_t most = offered_.size();
  if (const KvbmConfig& rules = env_.config.kvbm; rules.v2) {
    if (rules.inactive == InactivePool::kLineage) name_parents(r, first, end);
    keep_passing(tiers_[0], offered_);
    most = rules.max_batch;
  }
  for (std::span<const BlockId> left = offered_; !left.empty();) {
    const std::size_t blocks = std::min(most, left.size());
    queue_copy(item.request, left.first(blocks));
    left = left.subspan(blocks);
  }
}

void KvbmConnector::queue_copy(Handle h, std::span<const BlockId> blocks) {
  const std::uint32_t number = copies_.take();
  CopyDown& job = copies_[number];
  job.request = h;
  job.step = planned_;
  job.copying = false;
  job.blocks.assign(blocks.begin(), blocks.end());
  job.slots.clear();
  ++states_[h].copies;
  ++counters_.store_jobs;
  copying_.push_back(number);
}

/// The head takes its slots, or is dropped for the next; it is copied once its step is over. v2
/// takes slots then.
void KvbmConnector::go_on_copying() {
  while (!copying_.empty()) {
    const std::uint32_t number = copying_.front();
    CopyDown& job = copies_[number];
    if (job.copying || (env_.config.kvbm.v2 && job.step > over_)) return;
    if (job.slots.empty() && !take_slots(job)) {
      tiers_[0].refused += job.blocks.size();
      drop(job);
      copying_.pop_front();
      copies_.release(number);
      continue;
    }
    if (job.step > over_) return;
    job.copying = true;
    const auto blocks = static_cast<std::uint32_t>(job.blocks.size());
    return begin(Kind::kCopyDown, 0, tiers_[0].down.submit(blocks, place_.queue.now(), copy_));
  }
}

bool KvbmConnector::take_slots(CopyDown& job) {
  SlotPool& pool = tiers_[0].pool;
  if (!pool.can_take(job.blocks.size())) return false;
  for (std::size_t i = 0; i < job.blocks.size(); ++i) job.slots.push_back(pool.take());
  return true;
}

/// Its request need not wait for it any longer.
void KvbmConnector::drop(const CopyDown& job) {
  if (env_.config.kvbm.v2) settle(tiers_[0], job.blocks);
  if (job.request) --states_[*job.request].copies;
}

/// Blocks that nobody reads at that moment may go further down, those that were there before too
/// (pool/managed/state.rs, register_blocks()).
void KvbmConnector::end_copy_down() {
  const std::uint32_t number = copying_.front();
  CopyDown& job = copies_[number];
  observe(copy_);
  const bool v2 = env_.config.kvbm.v2;
  for (std::size_t i = 0; i < job.blocks.size(); ++i) {
    if (v2) count_new(job.blocks[i]);
    if (!tiers_[0].pool.register_block(job.slots[i], job.blocks[i]) || v2) continue;
    for (std::size_t tier = 1; tier < tiers_.size(); ++tier) {
      tiers_[tier].queue.push_back(job.blocks[i]);
    }
  }
  drop(job);
  if (v2) {
    for (std::size_t tier = 1; tier < tiers_.size(); ++tier) queue_lower(tier, job.blocks);
  }
  copying_.pop_front();
  copies_.release(number);
  for (std::size_t tier = 1; tier < tiers_.size(); ++tier) move_down(tier);
  go_on_copying();
}

void KvbmConnector::on_step_over() {
  over_ = planned_;
  go_on_copying();
}

// ---- further down
// --------------------------------------------------------------------------------

/// offload_worker() of offload.rs, one block at a time.
void KvbmConnector::move_down(std::size_t place) {
  Tier& tier = tiers_[place];
  SlotPool& host = tiers_[0].pool;
  const Time now = place_.queue.now();
  while (!tier.queue.empty() && tier.writes.size() < env_.config.kvbm.max_transfers) {
    const BlockId block = tier.queue.front();
    tier.queue.pop_front();
    const SlotId source = host.find(block);
    if (source == kNoSlot) continue;
    if (const SlotId there = tier.pool.find(block); there != kNoSlot) {
      tier.pool.touch(there);
      continue;
    }
    if (tier.filter && !tier.filter->sight(block, now)) {
      ++tier.filtered;
      continue;
    }
    if (!tier.pool.can_take(1)) {
      ++tier.refused;
      continue;
    }
    host.pin(source);
    begin(Kind::kWrite, place, tier.down.submit(1, now, scratch_));
    tier.writes.push_back({block, source, tier.pool.take(), scratch_.front()});
  }
}

/// Writes of a tier end in the order of their begin.
void KvbmConnector::end_write(Tier& tier) {
  const Write write = tier.writes.front();
  tier.writes.pop_front();
  place_.observer.on_transfer(write.transfer);
  tier.pool.register_block(write.target, write.block);
  tiers_[0].pool.unpin(write.source);
}

// ---- ends
// ----------------------------------------------------------------------------------------

void KvbmConnector::observe(const std::vector<TransferRecord>& batches) {
  for (const TransferRecord& batch : batches) place_.observer.on_transfer(batch);
}

/// Before step ends of that instant, by kind, then tier.
void KvbmConnector::begin(Kind kind, std::size_t tier, Time end) {
  std::uint32_t rank = 0;
  if (kind == Kind::kWrite) rank = static_cast<std::uint32_t>(tier);
  if (kind == Kind::kOnboard) rank = kMostTiers;
  place_.queue.schedule(end, Phase::kTransferDone, rank, *this,
                        {static_cast<std::uint16_t>(kind), 0, static_cast<std::uint32_t>(tier)});
}

void KvbmConnector::on_event(EventPayload payload) {
  switch (static_cast<Kind>(payload.kind)) {
    case Kind::kCopyDown:
      end_copy_down();
      break;
    case Kind::kWrite:
      if (env_.config.kvbm.v2) {
        end_lower(payload.subject);
        break;
      }
      end_write(tiers_[payload.subject]);
      move_down(payload.subject);
      break;
    case Kind::kOnboard:
      end_onboard();
      break;
  }
  ended_ = true;
  env_.waiter.on_transfer_progress();
}

/// Loads that have ended are seen; then requests that finished before the last step was planned,
/// and whose copies are done, give their blocks back.
bool KvbmConnector::poll(Time) {
  const bool any = std::exchange(ended_, false);
  for (const Handle h : loaded_) {
    ActiveRequest& r = env_.requests[h];
    r.load_done = r.state == RequestState::kLoading;
  }
  loaded_.clear();
  released_.clear();
  std::erase_if(finished_, [&](Handle h) {
    if (states_[h].finished == planned_ || states_[h].copies > 0) return false;
    released_.push_back(h);
    states_[h] = {};
    return true;
  });
  return any || !released_.empty();
}

void KvbmConnector::on_finished(Handle h, bool) {
  states_[h].finished = planned_;
  finished_.push_back(h);
}

/// Its jobs go on without it.
void KvbmConnector::on_withdrawn(const ActiveRequest& r, Time) {
  for (std::size_t i = 0; i < copying_.size(); ++i) {
    if (copies_[copying_[i]].request == r.handle) copies_[copying_[i]].request.reset();
  }
  for (std::size_t i = 0; i < loading_.size(); ++i) {
    if (loads_[loading_[i]].request == r.handle) loads_[loading_[i]].request.reset();
  }
  std::erase(loaded_, r.handle);
  states_[r.handle] = {};
}

bool KvbmConnector::idle() const {
  return copying_.empty() && loading_.empty() && loaded_.empty() && finished_.empty() &&
         std::all_of(tiers_.begin(), tiers_.end(),
                     [](const Tier& tier) { return tier.writes.empty() && tier.jobs.empty(); });
}

// ---- figures
// -------------------------------------------------------------------------------------

TierLevel KvbmConnector::level(std::uint32_t tier) const {
  const SlotPool& pool = tiers_[tier].pool;
  return {pool.stored(), pool.evicted(), pool.resident(), pool.resident()};
}

void KvbmConnector::report(EngineStats& stats) const {
  stats.offload = counters_;
  stats.chunk_tiers.assign(stats_.begin(),
                           stats_.begin() + static_cast<std::ptrdiff_t>(tiers_.size()));
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    stats.chunk_tiers[tier].refused = tiers_[tier].refused;
    stats.chunk_tiers[tier].filtered = tiers_[tier].filtered;
  }
}

void KvbmConnector::check_drained() const {
  for (const Tier& tier : tiers_) {
    tier.pool.check_drained();
    KV_ASSERT(tier.queue.empty(), "{} blocks still wait to go further down", tier.queue.size());
  }
}

}  // namespace spillway
