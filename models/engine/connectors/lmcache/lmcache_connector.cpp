#include "models/engine/connectors/lmcache/lmcache_connector.hpp"

#include <algorithm>

#include "models/engine/connectors/chunks/schedule_order.hpp"
#include "models/engine/stores/kv_pool.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

/// The chunks of a tier that engines share.
struct SharedTable final : SharedThing {
  explicit SharedTable(const ChunkTierConfig& tier) : table(tier.capacity, tier.order) {}
  ChunkTable table;
};

}  // namespace

LmcacheConnector::LmcacheConnector(const Environment& environment, const ChunkedConfig& config,
                                   const Place& place)
    : KvConnector(environment.config, environment.waiter),
      env_(environment),
      config_(config),
      names_(place.names),
      queue_(place.queue),
      host_(config.tiers.front().capacity, config.tiers.front().order) {
  KV_ASSERT(config.tiers.size() <= kMostTiers, "{} tiers of LMCache", config.tiers.size());
  for (const ChunkTierConfig& tier : config.tiers) make_backend(tier, place);
}

ChunkTable& LmcacheConnector::table_for(const ChunkTierConfig& tier, const Place& place) {
  if (tier.shared) {
    return place.shared
        .at<SharedTable>(tier.number, [&] { return std::make_unique<SharedTable>(tier); })
        .table;
  }
  own_tables_.push_back(std::make_unique<ChunkTable>(tier.capacity, tier.order));
  return *own_tables_.back();
}

void LmcacheConnector::make_backend(const ChunkTierConfig& tier, const Place& place) {
  if (tier.kind == ChunkTierKind::kHost) {
    tables_.push_back(&host_);
    return;
  }
  const BackendSite site{tier,           table_for(tier, place), host_,
                         config_.copies, place.network,          place.settlement,
                         place.queue,    place.observer,         place.reader};
  tables_.push_back(&site.table);
  if (tier.kind == ChunkTierKind::kDisk) {
    const auto make = [&] { return std::make_unique<DiskThreads>(tier.put_threads); };
    if (!tier.shared) own_threads_ = make();
    disk_ = std::make_unique<LmcacheDisk>(
        site, tier.shared ? place.shared.at<DiskThreads>(tier.number, make) : *own_threads_);
  } else {
    remote_ = std::make_unique<LmcacheRemote>(site);
  }
}

const std::vector<ChunkId>& LmcacheConnector::names(Handle h, std::uint32_t tokens, bool partial) {
  names_.list(env_.requests[h].id, tokens, partial, scratch_);
  return scratch_;
}

Bytes LmcacheConnector::bytes_of(std::uint32_t chunk, std::uint32_t tokens) const {
  const std::uint32_t size = names_.chunk_tokens();
  const std::uint32_t held = std::min(size, tokens - chunk * size);
  return env_.config.block_bytes * std::int64_t{held} / std::int64_t{env_.config.block_tokens};
}

// ---- look-up

bool LmcacheConnector::has(std::size_t tier, ChunkId id) const {
  switch (config_.tiers[tier].kind) {
    case ChunkTierKind::kHost:
      return host_.has(id);
    case ChunkTierKind::kDisk:
      return disk_->table().has(id);
    default:
      return remote_->reachable() && remote_->table().has(id);
  }
}

/// How many of the chunks in scratch_ from `from` on the tier has in a row. Each that is asked for,
/// the first that is not there too, takes time.
std::uint32_t LmcacheConnector::ask(std::size_t tier, std::uint32_t from) {
  const auto size = static_cast<std::uint32_t>(scratch_.size());
  std::uint32_t at = from;
  while (at < size && has(tier, scratch_[at])) ++at;
  const std::uint32_t asked = at - from + (at < size ? 1 : 0);
  lookup_time_ += config_.tiers[tier].lookup * asked;
  return at - from;
}

/// Each backend in turn has the longest prefix of what is left (storage_manager.py,
/// batched_contains); what is found in host memory and on disk is pinned, then touched in reverse.
LmcacheConnector::Lookup LmcacheConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                                   const Access&) {
  State& s = state(r.handle);
  if (!s.looked) {
    s.looked = true;
    s.pinned = true;
    s.found = {};
    s.found.known = r.tokens();
    names(r.handle, r.tokens(), env_.config.lmcache.save_unfull_chunk);
    std::uint32_t at = 0;
    for (std::size_t tier = 0; tier < config_.tiers.size(); ++tier) {
      const std::uint32_t count = ask(tier, at);
      s.found.chunks[tier] = count;
      if (config_.tiers[tier].kind != ChunkTierKind::kRemote) {
        ChunkTable& table = tier == 0 ? host_ : disk_->table();
        for (std::uint32_t i = at; i < at + count; ++i) table.pin(table.find(scratch_[i]));
        for (std::uint32_t i = at + count; i-- > at;) table.touch(table.find(scratch_[i]));
      }
      at += count;
    }
    s.found.tokens = std::min(at * names_.chunk_tokens(), r.tokens());
  }
  const std::uint32_t block = env_.config.block_tokens;
  const std::uint32_t held = local * block;
  if (s.found.tokens <= held) return {true, 0};
  // A prompt that was found whole computes its last token again.
  const std::uint32_t external = s.found.tokens - held - (s.found.tokens == r.tokens() ? 1 : 0);
  if (external == 0 || external < env_.config.lmcache.min_retrieve_tokens) return {true, 0};
  return {true, (s.found.tokens - held + block - 1) / block};
}

void LmcacheConnector::unpin(Handle h) {
  State& s = state(h);
  if (!s.pinned) return;
  s.pinned = false;
  std::uint32_t at = 0;
  names(h, s.found.known, env_.config.lmcache.save_unfull_chunk);
  for (std::size_t tier = 0; tier < config_.tiers.size(); ++tier) {
    if (config_.tiers[tier].kind != ChunkTierKind::kRemote) {
      ChunkTable& table = tier == 0 ? host_ : disk_->table();
      for (std::uint32_t i = at; i < at + s.found.chunks[tier]; ++i) {
        table.unpin(table.find(scratch_[i]));
      }
    }
    at += s.found.chunks[tier];
  }
}

// ---- admission

void LmcacheConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                       std::uint32_t external) {
  State& s = state(r.handle);
  s.looked = false;  // whoever is preempted looks again
  s.admitted = true;
  s.loads = external > 0;
  s.first = !r.admitted_before;
  s.local = local * env_.config.block_tokens;
  s.external = s.loads ? s.found.tokens - s.local - (s.found.tokens == r.tokens() ? 1 : 0) : 0;
  s.saved = s.found.tokens;
  const std::uint32_t first = s.local / names_.chunk_tokens();
  std::uint64_t left = r.tokens() / names_.chunk_tokens();
  left -= std::min<std::uint64_t>(left, first);
  std::uint32_t at = 0;
  for (std::size_t tier = 0; tier < config_.tiers.size(); ++tier) {
    const std::uint32_t end = at + s.found.chunks[tier];
    const std::uint64_t hits = s.loads && end > first ? end - std::max(at, first) : 0;
    at = end;
    left = stats_[tier].count_lookup(r.preemptions > 0, left, hits);
  }
}

void LmcacheConnector::plan_load(Handle, std::uint32_t, std::uint32_t) {
  ++counters_.load_jobs;  // count_admission() has told all
}

void LmcacheConnector::plan_stores(const StepPlan& plan, Time, StepTransfers& transfers) {
  transfers.clear();
  items_.clear();
  const auto add = [&](const ScheduledTokens& item, bool admitted) {
    State& s = state(item.request);
    if (item.tokens == 1 && !(admitted && env_.requests[item.request].preemptions == 0)) {
      s.decoding = true;  // for ever
    }
    items_.push_back({item.request, item.computed + item.tokens, admitted, s.loads});
    s.loads = false;
    s.admitted = false;
  };
  in_schedule_order(
      plan, env_.requests, [&](Handle h) { return state(h).admitted; }, add);
}

// ---- ends

void LmcacheConnector::on_finished(Handle h, bool) {
  state(h) = {};
  env_.requests.recycle(h);
}

void LmcacheConnector::on_withdrawn(const ActiveRequest& r, Time) {
  unpin(r.handle);
  state(r.handle) = {};
}

TierLevel LmcacheConnector::level(std::uint32_t tier) const {
  return levels_.level(config_.tiers[tier], tier, *tables_[tier], env_.config.block_bytes);
}

void LmcacheConnector::report(EngineStats& stats) const {
  stats.offload = counters_;
  stats.load_failures = load_failures_;
  stats.chunk_tiers.assign(stats_.begin(),
                           stats_.begin() + static_cast<std::ptrdiff_t>(config_.tiers.size()));
  for (std::size_t tier = 0; tier < config_.tiers.size(); ++tier) {
    ChunkTierStats& out = stats.chunk_tiers[tier];
    const bool host = config_.tiers[tier].kind == ChunkTierKind::kHost;
    ChunkLevels::tell(config_.tiers[tier], *tables_[tier], host ? config_.copies : 1, out);
    if (config_.tiers[tier].kind == ChunkTierKind::kDisk) {
      out.refused += disk_->refused();
      out.device = disk_->device();
    } else if (!host) {
      out.refused += remote_->refused();
      out.unreachable += remote_->unreachable();
      out.device = remote_->device();
    }
  }
}

void LmcacheConnector::check_drained() const {
  for (ChunkSlot slot = host_.first(); slot != kNoChunkSlot; slot = host_.after(slot)) {
    KV_ASSERT(host_.idle(slot), "a chunk of host memory is still in use");
  }
}

}  // namespace spillway
