#include "models/engine/connectors/lmcache_mp/mp_connector.hpp"

#include <algorithm>

#include "models/engine/connectors/chunks/schedule_order.hpp"
#include "models/engine/stores/kv_pool.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

/// Of one rank.
Bytes chunk_bytes(const OffloadConfig& config, std::uint32_t tokens) {
  return config.block_bytes * std::int64_t{tokens / config.block_tokens};
}

}  // namespace

MpConnector::MpConnector(const Environment& environment, const ChunkedConfig& config,
                         const Place& place)
    : KvConnector(environment.config, environment.waiter),
      env_(environment),
      config_(config),
      names_(place.names),
      clock_(place.queue),
      settlement_(place.settlement),
      first_tier_(place.first_tier),
      server_(config, environment.config.lmcache_mp,
              chunk_bytes(environment.config, place.names.chunk_tokens()),
              MpServer::Place{place.queue, place.network, place.observer, place.settlement,
                              place.ticker, place.shared, *this}),
      stats_(config.tiers.size()) {
  tables_.push_back(&server_.l1().table);
  for (std::size_t i = 0; i < server_.l2_tiers(); ++i) tables_.push_back(&server_.l2(i).table);
}

const std::vector<ChunkId>& MpConnector::names(const ActiveRequest& r, std::uint32_t tokens) {
  names_.list(r.id, tokens, false, scratch_);
  return scratch_;
}

// ---- look-up

MpConnector::Lookup MpConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                         const Access&) {
  State& s = state(r.handle);
  if (r.preemptions > 0 && !env_.config.lmcache_mp.resume_load) return {true, 0};
  if (!s.looked) {
    s.looked = true;
    s.holds = true;
    s.lookup = server_.look_up(names(r, r.tokens()));
    return {false, 0};
  }
  const MpLookup& look = server_.lookup(s.lookup);
  if (!look.settled) return {false, 0};
  const std::uint32_t block = env_.config.block_tokens;
  const std::uint32_t hit = look.found() * names_.chunk_tokens();
  const std::uint32_t held = local * block;
  if (hit <= held) return {true, 0};
  const std::uint32_t external = hit - held - (hit == r.tokens() ? 1 : 0);
  return {true, external == 0 ? 0 : (hit - held) / block};
}

/// Whoever waits for it asks again: at the next pass where that comes, else at once.
void MpConnector::on_answer(std::uint32_t) {
  ++version_;
  answered_ = true;
  env_.waiter.on_transfer_progress();
}

void MpConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                  std::uint32_t external) {
  State& s = state(r.handle);
  s.admitted = external == 0;
  s.looked = false;
  s.offered = 0;
  const std::uint32_t first = local * env_.config.block_tokens / names_.chunk_tokens();
  std::uint64_t left = r.tokens() / names_.chunk_tokens();
  left -= std::min<std::uint64_t>(left, first);
  if (s.holds) {
    const MpLookup& look = server_.lookup(s.lookup);
    s.offered = look.found();
    for (std::size_t tier = 0; tier < stats_.size(); ++tier) {
      std::uint64_t hits = 0;
      for (std::uint32_t i = first; external > 0 && i < look.found(); ++i) {
        hits += look.tiers[i] == tier ? 1 : 0;
      }
      left = stats_[tier].count_lookup(r.preemptions > 0, left, hits);
    }
    if (external == 0) let_go_of(s, look.found());
  }
}

/// What the look-up locked of the first `chunks` chunks is unlocked, and its answer not needed.
void MpConnector::let_go_of(State& s, std::uint32_t chunks) {
  for (std::uint32_t i = 0; i < chunks; ++i) server_.unlock(server_.lookup(s.lookup).ids[i]);
  server_.forget(s.lookup);
  s.holds = false;
}

/// By where the look-up found it, at the first admission.
void MpConnector::attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) {
  r.cached_tokens[1] = 0;
  State& s = state(r.handle);
  if (external == 0 || !s.holds) return;
  const MpLookup& look = server_.lookup(s.lookup);
  const std::uint32_t size = names_.chunk_tokens();
  const std::uint32_t from = local * env_.config.block_tokens;
  const std::uint32_t hit = look.found() * size;
  const std::uint32_t to = hit - (hit == r.tokens() ? 1 : 0);
  for (std::uint32_t i = 0; i < look.found(); ++i) {
    const std::uint32_t begin = std::max(from, i * size);
    const std::uint32_t end = std::min(to, (i + 1) * size);
    if (end > begin) r.cached_tokens[std::size_t{1} + first_tier_ + look.tiers[i]] += end - begin;
  }
}

void MpConnector::plan_load(Handle h, std::uint32_t local, std::uint32_t) {
  ActiveRequest& r = env_.requests[h];
  State& s = state(h);
  const MpLookup& look = server_.lookup(s.lookup);
  const std::uint32_t held = local * env_.config.block_tokens;
  const std::uint32_t first = held / names_.chunk_tokens();
  const std::uint32_t op = ops_.take();
  ops_[op].load = true;
  ops_[op].request = h;
  ops_[op].bytes = env_.config.block_bytes *
                   std::int64_t{look.found() * names_.chunk_tokens() - held} /
                   std::int64_t{env_.config.block_tokens};
  ops_[op].ids.assign(look.ids.begin() + first, look.ids.begin() + look.found());
  let_go_of(s, first);
  r.loads = 1;
  r.load_done = false;
  planned_.push_back(op);
  ++counters_.load_jobs;
}

// ---- a pass

void MpConnector::plan_stores(const StepPlan& plan, Time, StepTransfers& transfers) {
  transfers.clear();
  ++passes_;
  offers_.clear();
  const auto add = [&](const ScheduledTokens& item, bool) {
    const ActiveRequest& r = env_.requests[item.request];
    State& s = state(item.request);
    s.admitted = false;
    const std::uint32_t limit = env_.config.lmcache_mp.save_decode_cache
                                    ? item.computed + item.tokens
                                    : std::min(item.computed + item.tokens, r.prompt);
    const std::uint32_t to = std::min(limit, r.store_limit) / names_.chunk_tokens();
    if (to <= s.offered) return;
    offers_.push_back({item.request, s.offered, to});
    s.offered = to;
  };
  in_schedule_order(
      plan, env_.requests, [&](Handle h) { return state(h).admitted; }, add);
}

void MpConnector::submit_loads() {
  std::stable_partition(planned_.begin(), planned_.end(), [&](std::uint32_t op) {
    return env_.requests[ops_[op].request].preemptions == 0;
  });
  for (const std::uint32_t op : planned_) {
    env_.requests[ops_[op].request].clock.on_load(LoadEvent::kSubmitted, clock_.now());
    submit(op);
  }
  planned_.clear();
}

/// One operation for each request, of what L1 neither has nor is being given.
void MpConnector::submit_stores() {
  for (const Offer& offer : offers_) {
    const ActiveRequest& r = env_.requests[offer.request];
    const auto& ids = names(r, offer.to * names_.chunk_tokens());
    if (!server_.reserve(std::span(ids).subspan(offer.from), fresh_)) continue;
    const std::uint32_t op = ops_.take();
    ops_[op].load = false;
    ops_[op].request = offer.request;
    ops_[op].bytes =
        chunk_bytes(env_.config, names_.chunk_tokens()) * static_cast<std::int64_t>(fresh_.size());
    ops_[op].ids = fresh_;
    ++state(offer.request).stores;
    ++counters_.store_jobs;
    submit(op);
  }
  offers_.clear();
}

// ---- operations

void MpConnector::submit(std::uint32_t op) {
  ops_[op].order = settlement_.next_number();
  queue_.push_back(op);
  if (queue_.size() == 1) start(op);
}

void MpConnector::start(std::uint32_t op) {
  const Op& o = ops_[op];
  if (o.load) env_.requests[o.request].clock.on_load(LoadEvent::kServed, clock_.now());
  const Bytes block = env_.config.block_bytes;
  const auto blocks = static_cast<std::uint32_t>((o.bytes + block - Bytes(1)) / block);
  path_->submit(o.load ? Direction::kUp : Direction::kDown, op, o.bytes,
                blocks * env_.config.copies_per_block);
}

/// The next one begins at once, whichever way it goes.
void MpConnector::on_transfer_done(Direction, std::uint32_t op) {
  KV_ASSERT(queue_.front() == op, "operations end out of order");
  queue_.pop_front();
  settlement_.add(ops_[op].order, *this, op);
  if (!queue_.empty()) start(queue_.front());
}

void MpConnector::settle(std::uint32_t op) {
  const Op& o = ops_[op];
  if (o.load) {
    for (const ChunkId id : o.ids) server_.unlock(id);
    TtftClock& clock = env_.requests[o.request].clock;
    clock.on_load(LoadEvent::kPaused, clock_.now());
    clock.on_load(LoadEvent::kEnded, clock_.now());
  } else {
    server_.written(o.ids);
  }
  seen_.push_back(op);
  env_.waiter.on_transfer_progress();
}

// ---- ends

/// What ended is seen; then requests that finished before the last pass was scheduled, and whose
/// stores are done, give their blocks back.
bool MpConnector::poll(Time) {
  const bool any = !seen_.empty() || answered_;
  answered_ = false;
  for (const std::uint32_t op : seen_) {
    const Handle h = ops_[op].request;
    ActiveRequest& r = env_.requests[h];
    if (ops_[op].load) {
      r.loads = 0;
      r.load_done = r.state == RequestState::kLoading;
      state(h).admitted = true;  // it comes back as an admitted one
    } else {
      --state(h).stores;
    }
    ops_.release(op);
  }
  seen_.clear();
  released_.clear();
  std::erase_if(finished_, [&](Handle h) {
    if (state(h).finished == passes_ || state(h).stores > 0) return false;
    released_.push_back(h);
    state(h) = {};
    return true;
  });
  return any || !released_.empty();
}

void MpConnector::on_finished(Handle h, bool) {
  const ActiveRequest& r = env_.requests[h];
  server_.touch(names(r, r.tokens()));
  state(h).finished = passes_;
  finished_.push_back(h);
}

void MpConnector::on_withdrawn(const ActiveRequest& r, Time) {
  State& s = state(r.handle);
  if (s.holds) server_.abandon(s.lookup);
  s = {};
}

// ---- figures

TierLevel MpConnector::level(std::uint32_t tier) const {
  return levels_.level(config_.tiers[tier], tier, *tables_[tier], env_.config.block_bytes);
}

void MpConnector::report(EngineStats& stats) const {
  stats.offload = counters_;
  stats.chunk_tiers = stats_;
  for (std::size_t tier = 0; tier < stats_.size(); ++tier) {
    const MpStore& store = tier == 0 ? server_.l1() : server_.l2(tier - 1);
    ChunkTierStats& out = stats.chunk_tiers[tier];
    ChunkLevels::tell(config_.tiers[tier], store.table, tier == 0 ? config_.copies : 1, out);
    if (config_.tiers[tier].first || tier == 0) {
      out.evicted = store.evicted;
      out.ticks = store.ticks;
      out.idle_ticks = store.idle_ticks;
    }
    out.refused += tier == 0 ? server_.refused() : server_.refused(tier - 1);
    if (tier > 0) out.device = server_.device(tier - 1);
  }
}

void MpConnector::check_drained() const {
  KV_ASSERT(seen_.empty() && finished_.empty(), "an operation was never seen");
}

}  // namespace spillway
