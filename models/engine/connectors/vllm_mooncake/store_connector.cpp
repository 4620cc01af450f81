#include "models/engine/connectors/vllm_mooncake/store_connector.hpp"

#include <algorithm>
#include <utility>

#include "models/chains/local_chains.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr auto kNotThere = MooncakeStore::Source::kNowhere;

}  // namespace

StoreConnector::StoreConnector(const Environment& environment, Place place)
    : KvConnector(environment.config, environment.waiter),
      env_(environment),
      queue_(place.queue),
      master_(place.master),
      own_(std::move(place.own)),
      pages_(std::move(place.pages)) {
  pages_->attach(*this);
}

/// Objects have the names that all engines of the simulation give them.
template <class Visit>
void StoreConnector::for_names(const ActiveRequest& r, std::uint32_t from, std::uint32_t to,
                               Visit visit) const {
  auto run = [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) visit(BlockId{first + i});
    return true;
  };
  env_.chains.for_runs(r.id, from, to, run, false);
}

// ---- look-up

/// get_num_new_matched_tokens() of scheduler.py, lookup() of worker.py.
KvConnector::Lookup StoreConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                            const Access& access) {
  if (states_[r.handle].given_up) return {true, 0};
  const std::uint32_t block = env_.config.block_tokens;
  std::uint32_t hit = 0;
  bool lead = true;
  for_names(r, 0, r.tokens() / block, [&](BlockId name) {
    lead = master_.store().find(name, access.now) != kNotThere && lead;
    hit += lead ? 1 : 0;
  });
  if (hit > 0 && hit * block == r.tokens()) --hit;
  return {true, hit > local ? hit - local : 0};
}

void StoreConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                     std::uint32_t external) {
  const std::uint32_t full = r.tokens() / env_.config.block_tokens;
  lacking_ = full - std::min(full, local);
  first_ = false;
  if (external == 0 && r.preemptions == 0) pages_->count(lacking_, {});
}

/// By where each block came from, once it has.
void StoreConnector::attribute(ActiveRequest& r, std::uint32_t, std::uint32_t) {
  r.cached_tokens[1] = 0;
  first_ = true;
}

// ---- gets

void StoreConnector::plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) {
  ActiveRequest& r = env_.requests[h];
  const std::uint32_t number = gets_.take();
  Get& get = gets_[number];
  get.request = h;
  get.local = local;
  get.asked = lacking_;
  get.first = first_;
  get.blocks.clear();
  for_names(r, local, local + blocks, [&](BlockId name) { get.blocks.push_back(name); });
  r.load_done = false;
  r.loads = 1;
  r.clock.on_load(LoadEvent::kSubmitted, queue_.now());
  ++counters_.load_jobs;
  to_get_.push_back(number);
}

/// One get follows another (KVCacheStoreRecvingThread).
void StoreConnector::receive() {
  while (!reading_ && !to_get_.empty()) {
    const Get& get = gets_[to_get_.front()];
    if (get.request) env_.requests[*get.request].clock.on_load(LoadEvent::kServed, queue_.now());
    reading_ = pages_->begin_read(get.blocks);
    if (!reading_) end_get();
  }
}

void StoreConnector::end_get() {
  reading_ = false;
  const std::uint32_t number = to_get_.front();
  to_get_.pop_front();
  const Get& get = gets_[number];
  from_.clear();
  const std::uint32_t came = pages_->end_read(from_);
  if (get.request) {
    ActiveRequest& r = env_.requests[*get.request];
    PageStorage::ByTier hits{};
    for (const std::uint8_t tier : from_) ++hits[tier];
    for (std::size_t i = 0; get.first && i < hits.size(); ++i) {
      r.cached_tokens[1 + i] = hits[i] * env_.config.block_tokens;
    }
    if (r.preemptions == 0) pages_->count(get.asked, hits);
    r.clock.on_load(LoadEvent::kPaused, queue_.now());
    r.clock.on_load(LoadEvent::kEnded, queue_.now());
    r.loads = 0;
    loaded_.push_back({*get.request, get.local + came, came == get.blocks.size()});
  }
  gets_.release(number);
}

// ---- saves

/// build_connector_meta() of scheduler.py, from_request_tracker() of data.py.
void StoreConnector::offer(const ScheduledTokens& item) {
  const ActiveRequest& r = env_.requests[item.request];
  State& s = states_[item.request];
  if (s.prefill == 0) s.prefill = r.tokens();
  if (item.computed >= s.prefill) return;
  const std::uint32_t known = std::min(item.computed + item.tokens, r.tokens());
  const std::uint32_t end = std::min(known, r.store_limit) / env_.config.block_tokens;
  if (end <= s.offered) return;
  s.offered = end;
  ++s.saves;
  ++counters_.store_jobs;
  to_save_.push_back({item.request, passes_, end});
}

/// One save follows another, each once its step has ended (KVCacheStoreSendingThread).
void StoreConnector::send() {
  while (!writing_ && !to_save_.empty()) {
    const Save save = to_save_.front();
    if (!save.request) {
      to_save_.pop_front();
      continue;
    }
    if (save.pass > over_) return;
    State& s = states_[*save.request];
    if (s.refused == shortage_) {
      --s.saves;
      to_save_.pop_front();
      continue;
    }
    begin_save(save);
  }
}

void StoreConnector::begin_save(const Save& save) {
  MooncakeStore& store = master_.store();
  missing_.clear();
  for_names(env_.requests[*save.request], states_[*save.request].saved, save.end,
            [&](BlockId name) {
              if (store.find(name, queue_.now()) == kNotThere) missing_.push_back(name);
            });
  const std::uint64_t refused = store.counters().put_failures;
  writing_ = !missing_.empty() && pages_->begin_write(missing_);
  refused_ = store.counters().put_failures > refused;
  if (!writing_) end_save();
}

/// What was refused is asked for again by the request's next save (_saved_offset of worker.py).
void StoreConnector::end_save() {
  writing_ = false;
  const Save save = to_save_.front();
  to_save_.pop_front();
  if (!refused_ && !missing_.empty()) ++shortage_;
  if (!save.request) return;
  State& s = states_[*save.request];
  --s.saves;
  if (refused_) {
    s.refused = shortage_;
  } else {
    s.saved = save.end;
  }
}

/// Those that have not begun; one under way goes on without the request.
void StoreConnector::drop_saves(Handle h) {
  for (std::size_t i = 0; i < to_save_.size(); ++i) {
    if (to_save_[i].request == h) to_save_[i].request.reset();
  }
  states_[h] = {};
}

// ---- passes and boundaries

void StoreConnector::plan_stores(const StepPlan& plan, Time, StepTransfers& transfers) {
  transfers.clear();
  ++passes_;
  for (const Handle h : plan.preempted) drop_saves(h);
  receive();
  for (const ScheduledTokens& item : plan.items) offer(item);
}

void StoreConnector::on_step_over() {
  over_ = passes_;
  send();
}

void StoreConnector::on_batches_ended(bool read, bool write) {
  if (read) end_get();
  if (write) end_save();
  receive();
  send();
  env_.waiter.on_transfer_progress();
}

/// Finished requests give their blocks back: those without saves, then those that finished before
/// the last pass was planned and whose saves have ended. Loads that have ended are seen.
bool StoreConnector::poll(Time) {
  released_.clear();
  std::swap(released_, unheld_);
  std::erase_if(finished_, [&](Handle h) {
    if (states_[h].finished == passes_ || states_[h].saves > 0) return false;
    released_.push_back(h);
    states_[h] = {};
    return true;
  });
  failed_.clear();
  for (const Loaded& load : loaded_) {
    ActiveRequest& r = env_.requests[load.request];
    if (!load.whole) {
      ++load_failures_;
      if (!env_.config.recompute_failed) {
        failed_.push_back(load.request);
        continue;
      }
      r.computed = load.blocks * env_.config.block_tokens;
      states_[load.request].given_up = load.blocks == 0;
    }
    r.load_done = true;
  }
  const bool any = !loaded_.empty() || !released_.empty();
  loaded_.clear();
  return any;
}

void StoreConnector::on_finished(Handle h, bool) {
  pages_->on_request_end();
  State& s = states_[h];
  if (s.offered == 0) {
    s = {};
    unheld_.push_back(h);
  } else {
    s.finished = passes_;
    finished_.push_back(h);
  }
}

/// Its get goes on without it.
void StoreConnector::on_withdrawn(const ActiveRequest& r, Time) {
  pages_->on_request_end();
  drop_saves(r.handle);
  for (std::size_t i = 0; i < to_get_.size(); ++i) {
    Get& get = gets_[to_get_[i]];
    if (get.request == r.handle) get.request.reset();
  }
  std::erase_if(loaded_, [&](const Loaded& load) { return load.request == r.handle; });
}

bool StoreConnector::idle() const {
  return to_get_.empty() && to_save_.empty() && loaded_.empty() && finished_.empty() &&
         unheld_.empty();
}

// ---- figures

void StoreConnector::report(EngineStats& stats) const {
  stats.offload = counters_;
  stats.load_failures = load_failures_;
  pages_->report(stats);
}

void StoreConnector::check_drained() const {
  KV_ASSERT(gets_.none_in_use(), "a get has not ended");
  pages_->check_drained();
}

}  // namespace spillway
