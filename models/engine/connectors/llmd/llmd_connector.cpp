#include "models/engine/connectors/llmd/llmd_connector.hpp"

#include <algorithm>

#include "models/engine/connectors/llmd/file_threads.hpp"
#include "models/engine/connectors/llmd/file_turns.hpp"
#include "models/engine/stores/kv_pool.hpp"
#include "sim/error.hpp"

namespace spillway {

LlmdConnector::LlmdConnector(const Environment& environment, const ChunkTierConfig& tier,
                             Place place)
    : KvConnector(environment.config, environment.waiter),
      env_(environment),
      tier_(tier),
      place_(std::move(place)),
      store_(place_.store),
      per_chunk_(environment.config.blocks_per_chunk),
      chunk_tokens_(environment.config.block_tokens * per_chunk_) {}

// ---- look-up
// -------------------------------------------------------------------------------------

bool LlmdConnector::exists(ChunkId id) {
  lookup_time_ += tier_.lookup;
  return store_.has(id);
}

void LlmdConnector::ask_all(Answer& answer) {
  answer.asked = true;
  answer.there.resize(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) answer.there[i] = exists(keys_[i]);
  answers_due_ = true;
}

/// Files in a row, from that of keys_[first] on, as the file system says or said. Those that other
/// requests load are among them.
std::uint32_t LlmdConnector::hits_behind(const Answer* answer, std::uint32_t first, bool& loading) {
  std::uint32_t at = first;
  for (; at < keys_.size(); ++at) {
    const auto id = static_cast<std::uint32_t>(keys_[at]);
    const bool there =
        answer == nullptr ? exists(keys_[at]) : at < answer->there.size() && answer->there[at];
    if (!there) break;
    loading = loading || (id < loading_.size() && loading_[id] > 0);
  }
  return at - first;
}

/// As OffloadingConnectorScheduler, _lookup: what brings less than a file beyond the local hit
/// counts as nothing, and another request's load of the same files defers. A file that is being
/// written is not there: it defers nobody.
LlmdConnector::Lookup LlmdConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                             const Access& access) {
  if (r.transfers_in_flight()) return {false, 0};
  const std::uint32_t full = r.tokens() / chunk_tokens_;
  if (full * per_chunk_ < local + per_chunk_) return {true, 0};
  store_.tick_until(access.now);
  place_.names.list(r.id, r.tokens(), false, keys_);
  const Answer* told = nullptr;
  if (env_.config.llmd.async_lookup) {
    Answer& own = answers_[r.handle];
    if (!own.asked) {
      ask_all(own);
      return {false, 0};
    }
    told = &own;
  }
  bool loading = false;
  const std::uint32_t first = local / per_chunk_;
  const std::uint32_t end = (first + hits_behind(told, first, loading)) * per_chunk_;
  if (end < local + per_chunk_) return {true, 0};
  const bool convoy = env_.config.convoy && env_.config.enable_prefix_caching && loading;
  return convoy ? Lookup{false, 0} : Lookup{true, end - local};
}

/// Where to ask takes time, each attempt asks again.
std::uint64_t LlmdConnector::version() const {
  if (tier_.lookup > Duration(0)) return ++asked_for_version_;
  return store_.table().version() + loads_seen_;
}

void LlmdConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                    std::uint32_t external) {
  const std::uint32_t first = local / per_chunk_;
  const std::uint64_t hits = external > 0 ? (local + external) / per_chunk_ - first : 0;
  const std::uint32_t full = r.tokens() / chunk_tokens_;
  stats_.count_lookup(r.preemptions > 0, full > first ? full - first : 0, hits);
}

// ---- planning
// ------------------------------------------------------------------------------------

void LlmdConnector::plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) {
  ActiveRequest& r = env_.requests[h];
  const std::uint32_t number = jobs_.make(h);
  TransferJob& job = jobs_[number];
  const std::uint32_t end = local + blocks;
  place_.names.list(r.id, end * env_.config.block_tokens, false, keys_);
  for (std::uint32_t i = local / per_chunk_; i < keys_.size(); ++i) {
    const std::uint32_t id = static_cast<std::uint32_t>(keys_[i]);
    job.below.push_back(SlotId{id});
    loading_.grow(std::size_t{id} + 1, 0);
    ++loading_[id];
  }
  KV_ASSERT(keys_.size() * per_chunk_ == end, "a load that ends inside a file");
  job.blocks = blocks;
  r.next_store = end;
  r.loads = 1;
  r.load_done = false;
  ++loads_seen_;
  jobs_.plan_load(number);
  ++counters_.load_jobs;
}

void LlmdConnector::plan_stores(const StepPlan& plan, Time, StepTransfers& transfers) {
  jobs_.begin_plan(transfers);
  flushed_.clear();
  for (const Handle h : plan.preempted) {
    for (const std::uint32_t job : env_.requests[h].stores) fence(job);
  }
  if (env_.pool.guarded_given()) fence_given();
  for (const ScheduledTokens& item : plan.items) {
    const ActiveRequest& r = env_.requests[item.request];
    offer(item.request, std::min(item.computed + item.tokens, storable_tokens(r)), false);
  }
  for (const Handle h : unoffered_) {
    ActiveRequest& r = env_.requests[h];
    offer(h, storable_tokens(r), true);
    r.offered = true;
    recycle_if_gone(h);
  }
  unoffered_.clear();
  jobs_.end_plan();
  if (transfers.fences_pending > 0) ++counters_.flushes;
  submitted_ = !transfers.stores.empty();
  refused_ = false;
  answered_ = std::exchange(answers_due_, false);
}

/// The step being planned waits for this store.
void LlmdConnector::fence(std::uint32_t job) {
  jobs_.fence(job);
  flushed_.push_back(job);
}

/// Some block handed out in this step is still being read by a finished request's store.
void LlmdConnector::fence_given() {
  for (const std::uint32_t job : finished_jobs_) {
    const auto& slots = jobs_[job].hbm;
    if (std::any_of(slots.begin(), slots.end(),
                    [&](SlotId slot) { return env_.pool.given_this_step(slot); })) {
      fence(job);
    }
  }
}

/// All files that `tokens` tokens fill and that were not offered yet, in one job.
void LlmdConnector::offer(Handle h, std::uint32_t tokens, bool finished) {
  ActiveRequest& r = env_.requests[h];
  const auto held = static_cast<std::uint32_t>(r.slots.size());
  const std::uint32_t storable = std::min(tokens / chunk_tokens_, held / per_chunk_);
  const std::uint32_t first = r.next_store / per_chunk_;
  if (storable <= first) return;
  const std::uint32_t number = jobs_.make(h);
  TransferJob& job = jobs_[number];
  place_.names.list(r.id, storable * chunk_tokens_, false, keys_);
  for (std::uint32_t i = first; i < storable; ++i) {
    job.below.push_back(SlotId{static_cast<std::uint32_t>(keys_[i])});
  }
  const auto at = [&](std::uint32_t chunk) {
    return r.slots.begin() + std::ptrdiff_t{chunk} * per_chunk_;
  };
  job.hbm.assign(at(first), at(storable));
  job.blocks = static_cast<std::uint32_t>(job.hbm.size());
  r.next_store = storable * per_chunk_;
  r.stores.push_back(number);
  jobs_.plan_store(number);
  ++counters_.store_jobs;
  if (!finished) return;
  watch_to_end(number);
  if (std::any_of(job.hbm.begin(), job.hbm.end(),
                  [&](SlotId slot) { return env_.pool.given_this_step(slot); })) {
    fence(number);
  }
}

/// Fences watch what a finished request's stores still read.
void LlmdConnector::watch_to_end(std::uint32_t job) {
  finished_jobs_.push_back(job);
  for (const SlotId slot : jobs_[job].hbm) env_.pool.guard(slot);
}

// ---- ends
// ----------------------------------------------------------------------------------------

void LlmdConnector::on_finished(Handle h, bool held) {
  ActiveRequest& r = env_.requests[h];
  for (const std::uint32_t job : r.stores) watch_to_end(job);
  if (held) {
    unoffered_.push_back(h);
  } else {
    r.offered = true;  // it has no blocks left to offer
    recycle_if_gone(h);
  }
  place_.turns.request_ended();
}

/// Model: an arrival that is refused at once is an arrival nevertheless, at which requests that
/// wait look again.
void LlmdConnector::on_withdrawn(const ActiveRequest& r, Time now) {
  if (env_.config.llmd.async_lookup) answers_[r.handle] = {};
  place_.turns.request_ended();
  if (r.arrival != now) return;
  refused_ = true;
  env_.waiter.on_transfer_progress();
}

bool LlmdConnector::poll(Time) {
  return jobs_.take_ended([&](std::uint32_t job) { complete_store(job); },
                          [&](std::uint32_t job) { complete_load(job); });
}

void LlmdConnector::complete_store(std::uint32_t job) {
  const Handle h = jobs_[job].request;
  ActiveRequest& r = env_.requests[h];
  r.stores.erase(std::find(r.stores.begin(), r.stores.end(), job));
  if (r.state == RequestState::kFinished) {
    finished_jobs_.erase(std::find(finished_jobs_.begin(), finished_jobs_.end(), job));
    for (const SlotId slot : jobs_[job].hbm) env_.pool.unguard(slot);
    recycle_if_gone(h);
  }
  jobs_.release(job);
}

void LlmdConnector::complete_load(std::uint32_t job) {
  ActiveRequest& r = env_.requests[jobs_[job].request];
  for (const SlotId file : jobs_[job].below) --loading_[raw(file)];
  ++loads_seen_;
  r.loads = 0;
  r.load_done = r.state == RequestState::kLoading;
  recycle_if_gone(jobs_[job].request);
  jobs_.release(job);
}

/// A finished request is let go once its last blocks were offered and its transfers ended.
void LlmdConnector::recycle_if_gone(Handle h) {
  const ActiveRequest& r = env_.requests[h];
  if (!r.offered || r.transfers_in_flight()) return;
  if (env_.config.llmd.async_lookup) answers_[h] = {};
  env_.requests.recycle(h);
}

// ---- results
// -------------------------------------------------------------------------------------

TierLevel LlmdConnector::level(std::uint32_t) const {
  store_.tick_until(place_.queue.now());
  const Bytes block = store_.file_bytes() / std::int64_t{per_chunk_};
  return levels_.level(tier_, 0, store_.table(), block);
}

void LlmdConnector::report(EngineStats& stats) const {
  stats.offload = counters_;
  ChunkTierStats out = stats_;
  out.refused += threads_->unwritten();
  out.missing_reads = threads_->missing();
  out.device = threads_->device();
  ChunkLevels::tell(tier_, store_.table(), 1, out);
  if (tier_.first) {
    out.refused += store_.failed();
    if (const Evictor* evictor = store_.evictor()) {
      out.ticks = evictor->ticks();
      out.idle_ticks = evictor->idle_ticks();
    }
  }
  stats.chunk_tiers.assign(1, out);
}

void LlmdConnector::check_drained() const {
  KV_ASSERT(finished_jobs_.empty(), "a finished request's store is still watched");
  KV_ASSERT(store_.table().used() <= store_.table().capacity(), "more files than there is room");
}

}  // namespace spillway
