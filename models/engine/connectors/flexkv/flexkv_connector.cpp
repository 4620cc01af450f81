#include "models/engine/connectors/flexkv/flexkv_connector.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/chains/local_chains.hpp"
#include "sim/error.hpp"

namespace spillway {

FlexkvConnector::FlexkvConnector(const Environment& environment,
                                 std::vector<AttachedTierConfig> tiers, const Place& place)
    : KvConnector(environment.config, environment.waiter), env_(environment), place_(place) {
  KV_ASSERT(!tiers.empty() && tiers.size() <= kMostTiers, "{} tiers", tiers.size());
  const FlexkvConfig& rules = env_.config.flexkv;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    tiers_.emplace_back(std::move(tiers[i]), rules.eviction[i], rules);
  }
}

// ---- look-up
// ------------------------------------------------------------------------------------

BlockSpan FlexkvConnector::chain_of(const ActiveRequest& r, std::uint32_t blocks) {
  chain_.clear();
  env_.chains.for_runs(r.id, 0, blocks, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) chain_.push_back(BlockId{first + i});
    return true;
  });
  return chain_;
}

FlexkvConnector::ByTier<FlexkvTree::Match> FlexkvConnector::match(BlockSpan chain, Time now) {
  ByTier<Tree::Match> out;
  for (std::size_t i = 0; i < tiers_.size(); ++i) out[i] = tiers_[i].tree.match(chain, now);
  return out;
}

bool FlexkvConnector::take(std::size_t tier, std::uint64_t blocks, const Tree::Match& match) {
  if (tiers_[tier].tree.take(blocks, match.last)) return true;
  tiers_[tier].refused += blocks;
  return false;
}

/// get_match() of the cache engine, asked by get_num_new_matched_tokens() of the adapter.
KvConnector::Lookup FlexkvConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                             const Access& access) {
  KV_ASSERT(!planned_, "request {} is looked up beside another", raw(r.id));
  const std::uint32_t full = r.tokens() / env_.config.block_tokens;
  if (full <= local) return {true, 0};
  const BlockSpan chain = chain_of(r, full);
  const ByTier<Tree::Match> found = match(chain, access.now);
  plan_ = {};
  std::uint32_t reach = local;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    plan_.blocks[i] = found[i].ready - std::min(found[i].ready, reach);
    reach += plan_.blocks[i];
  }
  if (reach == local || !make_room(chain, local, found, access.now)) return {true, 0};
  planned_ = true;
  return {true, reach - local};
}

/// Room above for what lower tiers have. False: dram has none.
bool FlexkvConnector::make_room(BlockSpan chain, std::uint32_t local,
                                const ByTier<Tree::Match>& found, Time now) {
  const std::uint32_t remote = plan_.blocks[kRemote];
  const std::uint32_t lower = plan_.blocks[kNvme] + remote;
  const auto continues = [&](std::size_t tier, std::uint32_t from) {
    return found[tier].ready == found[tier].blocks && found[tier].ready >= from;
  };
  const std::uint32_t end =
      local + std::accumulate(plan_.blocks.begin(), plan_.blocks.end(), std::uint32_t{0});
  if (!take(kDram, lower, found[kDram])) return false;
  if (lower > 0 && continues(kDram, local)) {
    plan_.inserted[kDram] = true;
  } else {
    plan_.buffers = lower;
  }
  plan_.inserted[kNvme] = remote > 0 && continues(kNvme, std::max(found[kDram].ready, local)) &&
                          take(kNvme, remote, found[kNvme]);
  for (std::size_t i = 0; i < tiers_.size(); ++i) hold(plan_, i, found, chain, end, now);
  return true;
}

/// Locks the blocks up to `end` that are inserted here, else what is ready.
void FlexkvConnector::hold(Task& task, std::size_t tier, const ByTier<Tree::Match>& found,
                           BlockSpan chain, std::uint32_t end, Time now) {
  const Tree::Match& m = found[tier];
  Tree& tree = tiers_[tier].tree;
  task.held[tier] = task.inserted[tier]
                        ? tree.insert(m, chain.subspan(m.blocks, end - m.blocks), now)
                        : m.last_ready;
  tree.lock(task.held[tier]);
}

/// The request is not admitted.
void FlexkvConnector::undo() {
  planned_ = false;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    tiers_[i].tree.unlock(plan_.held[i]);
    if (plan_.inserted[i]) tiers_[i].tree.undo(plan_.held[i]);
  }
  tiers_[kDram].tree.give_back(plan_.buffers);
}

/// Each tier is asked for what the nearer ones do not supply.
void FlexkvConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                      std::uint32_t external) {
  KV_ASSERT(planned_ == (external > 0), "request {} is admitted with other blocks than were found",
            raw(r.id));
  const std::uint32_t full = r.tokens() / env_.config.block_tokens;
  std::uint64_t left = full - std::min(full, local);
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    left = stats_[i].count_lookup(r.preemptions > 0, left, planned_ ? plan_.blocks[i] : 0);
  }
}

void FlexkvConnector::attribute(ActiveRequest& r, std::uint32_t, std::uint32_t external) {
  if (external == 0) return;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    r.cached_tokens[1 + i] = plan_.blocks[i] * env_.config.block_tokens;
  }
}

// ---- gets
// ---------------------------------------------------------------------------------------

void FlexkvConnector::plan_load(Handle h, std::uint32_t, std::uint32_t) {
  planned_ = false;
  const std::uint32_t number = tasks_.take();
  tasks_[number] = plan_;
  tasks_[number].request = h;
  get_of_[h] = number;
  gets_.push_back(number);
  env_.requests[h].load_done = false;
  ++counters_.load_jobs;
}

void FlexkvConnector::plan_stores(const StepPlan&, Time now, StepTransfers& transfers) {
  transfers.clear();
  if (planned_) undo();
  for (const std::uint32_t number : gets_) {
    Task& get = tasks_[number];
    env_.requests[*get.request].clock.on_load(LoadEvent::kSubmitted, now);
    for (const std::size_t tier : {kNvme, kRemote}) {
      if (get.blocks[tier] > 0) submit(number, Kind::kFetch, tier, get.blocks[tier]);
    }
    get.fetching = get.jobs;
    if (get.fetching == 0) load(number);
  }
  gets_.clear();
  for (const std::uint32_t number : puts_) {
    submit(number, Kind::kPut, kDram, tasks_[number].blocks[kDram]);
  }
  puts_.clear();
}

/// All of a get is in dram.
void FlexkvConnector::load(std::uint32_t number) {
  const Task& get = tasks_[number];
  if (get.inserted[kDram]) tiers_[kDram].tree.make_ready(get.held[kDram]);
  if (get.inserted[kNvme]) submit(number, Kind::kBackfill, kNvme, get.blocks[kRemote]);
  submit(number, Kind::kLoad, kDram,
         std::accumulate(get.blocks.begin(), get.blocks.end(), std::uint32_t{0}));
}

/// Its jobs go on without it.
void FlexkvConnector::on_withdrawn(const ActiveRequest& r, Time) {
  if (const auto get = std::exchange(get_of_[r.handle], std::nullopt)) tasks_[*get].request.reset();
  std::erase(loaded_, r.handle);
}

// ---- puts
// ---------------------------------------------------------------------------------------

void FlexkvConnector::on_finished(Handle h, bool) {
  if (!put(env_.requests[h])) unheld_.push_back(h);
}

/// request_finished() of the adapter, put_match() of the cache engine.
bool FlexkvConnector::put(const ActiveRequest& r) {
  const std::uint32_t end = std::min(r.tokens() - 1, r.store_limit) / env_.config.block_tokens;
  if (!r.offload || end == 0) return false;
  const Time now = place_.queue.now();
  const BlockSpan chain = chain_of(r, end);
  const ByTier<Tree::Match> found = match(chain, now);
  Task task;
  for (std::size_t i = 0; i < tiers_.size(); ++i) task.blocks[i] = end - found[i].blocks;
  if (task.blocks[kDram] == 0 || !take_for_put(found, task.blocks)) return false;
  task.request = r.handle;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    task.inserted[i] = task.blocks[i] > 0;
    if (task.inserted[i]) hold(task, i, found, chain, end, now);
  }
  const std::uint32_t number = tasks_.take();
  tasks_[number] = task;
  puts_.push_back(number);
  ++counters_.store_jobs;
  return true;
}

/// Without a remote store, dram and nvme take all or nothing.
bool FlexkvConnector::take_for_put(const ByTier<Tree::Match>& found,
                                   ByTier<std::uint32_t>& blocks) {
  if (!take(kDram, blocks[kDram], found[kDram])) return false;
  if (tiers_.size() > kNvme && !take(kNvme, blocks[kNvme], found[kNvme])) {
    if (tiers_.size() <= kRemote) {
      tiers_[kDram].tree.give_back(blocks[kDram]);
      tiers_[kDram].refused += blocks[kDram];
      return false;
    }
    blocks[kNvme] = 0;
  }
  if (tiers_.size() > kRemote && !take(kRemote, blocks[kRemote], found[kRemote])) {
    blocks[kRemote] = 0;
  }
  return true;
}

// ---- jobs
// ---------------------------------------------------------------------------------------

void FlexkvConnector::submit(std::uint32_t task, Kind kind, std::size_t tier,
                             std::uint32_t blocks) {
  const bool up = kind == Kind::kFetch || kind == Kind::kLoad;
  Lane& lane = up ? tiers_[tier].up : tiers_[tier].down;
  const Time now = place_.queue.now();
  const Bytes bytes = lane.way.block * std::int64_t{blocks};
  const std::uint32_t copies = lane.way.copies * blocks;
  const Time start = std::max(now, lane.free);
  lane.free = start + lane.way.model->service_time(bytes, copies);
  const std::uint32_t number = under_way_.take();
  under_way_[number] = {
      kind,
      tier,
      task,
      &lane,
      {lane.way.link, bytes, copies, now, start, lane.free, lane.way.model->reach(bytes, copies)}};
  ++tasks_[task].jobs;
  lane.jobs.push_back(number);
  if (lane.jobs.size() == 1) observe(number, LoadEvent::kServed);
  place_.queue.schedule(lane.free, Phase::kTransferDone, *this, {0, 0, number});
}

/// The clock of the request that waits for the job, if one does.
void FlexkvConnector::observe(std::uint32_t number, LoadEvent event) {
  const Job& job = under_way_[number];
  const Task& task = tasks_[job.task];
  if ((job.kind != Kind::kFetch && job.kind != Kind::kLoad) || !task.request) return;
  env_.requests[*task.request].clock.on_load(event, place_.queue.now());
}

void FlexkvConnector::on_event(EventPayload payload) {
  const std::uint32_t number = payload.subject;
  const Job job = under_way_[number];
  RingQueue<std::uint32_t>& line = job.lane->jobs;
  KV_ASSERT(line.front() == number, "jobs of a link end out of order");
  observe(number, LoadEvent::kPaused);
  line.pop_front();
  if (!line.empty()) observe(line.front(), LoadEvent::kServed);
  under_way_.release(number);
  place_.observer.on_transfer(job.transfer);
  end(job);
  if (--tasks_[job.task].jobs == 0) end_task(job.task);
  if (job.kind == Kind::kLoad || job.kind == Kind::kPut) env_.waiter.on_transfer_progress();
}

void FlexkvConnector::end(const Job& job) {
  Task& task = tasks_[job.task];
  switch (job.kind) {
    case Kind::kFetch:
      if (--task.fetching == 0) load(job.task);
      return;
    case Kind::kLoad:
      if (!task.request) return;
      env_.requests[*task.request].clock.on_load(LoadEvent::kEnded, place_.queue.now());
      get_of_[*task.request].reset();
      loaded_.push_back(*std::exchange(task.request, std::nullopt));
      return;
    case Kind::kPut:
      tiers_[kDram].tree.make_ready(task.held[kDram]);
      stored_.push_back(*std::exchange(task.request, std::nullopt));
      for (const std::size_t tier : {kNvme, kRemote}) {
        if (task.blocks[tier] > 0) submit(job.task, Kind::kLower, tier, task.blocks[tier]);
      }
      return;
    case Kind::kBackfill:
    case Kind::kLower:
      tiers_[job.tier].tree.make_ready(task.held[job.tier]);
      return;
  }
}

void FlexkvConnector::end_task(std::uint32_t number) {
  const Task& task = tasks_[number];
  for (std::size_t i = 0; i < tiers_.size(); ++i) tiers_[i].tree.unlock(task.held[i]);
  tiers_[kDram].tree.give_back(task.buffers);
  tasks_.release(number);
}

/// Finished requests give their blocks back, those whose puts have left HBM behind those without
/// one; loads that have ended are seen.
bool FlexkvConnector::poll(Time) {
  const bool any = !stored_.empty() || !loaded_.empty();
  released_.clear();
  std::swap(released_, unheld_);
  released_.insert(released_.end(), stored_.begin(), stored_.end());
  stored_.clear();
  for (const Handle h : loaded_) {
    ActiveRequest& r = env_.requests[h];
    r.load_done = r.state == RequestState::kLoading;
  }
  loaded_.clear();
  return any;
}

bool FlexkvConnector::idle() const {
  return tasks_.none_in_use() && loaded_.empty() && stored_.empty() && unheld_.empty();
}

// ---- figures
// ------------------------------------------------------------------------------------

TierLevel FlexkvConnector::level(std::uint32_t tier) const {
  const Tree& tree = tiers_[tier].tree;
  return {tree.stored(), tree.evicted(), static_cast<std::uint32_t>(tree.resident()),
          static_cast<std::uint32_t>(tree.used())};
}

void FlexkvConnector::report(EngineStats& stats) const {
  stats.offload = counters_;
  stats.chunk_tiers.assign(stats_.begin(),
                           stats_.begin() + static_cast<std::ptrdiff_t>(tiers_.size()));
  for (std::size_t i = 0; i < tiers_.size(); ++i) stats.chunk_tiers[i].refused = tiers_[i].refused;
}

void FlexkvConnector::check_drained() const {
  KV_ASSERT(!planned_ && tasks_.none_in_use(), "a get or a put has not ended");
  for (const Tier& tier : tiers_) tier.tree.check_drained();
}

}  // namespace spillway
