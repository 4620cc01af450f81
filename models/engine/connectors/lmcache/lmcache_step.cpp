#include "models/engine/connectors/lmcache/lmcache_step.hpp"

#include <algorithm>

#include "models/link/link_model.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {
// storage_backend/local_cpu_backend.py, allocate: the pause between two attempts of a load.
constexpr Duration kRetry = std::chrono::milliseconds(100);
}  // namespace

// ---- going on
// ------------------------------------------------------------------------------------

void LmcacheStep::continue_at(Time at) {
  place_.queue.schedule(at, Phase::kStepStart, place_.rank, *this,
                        {static_cast<std::uint16_t>(Kind::kGoOn), 0, ++epoch_});
}

void LmcacheStep::on_event(EventPayload payload) {
  if (static_cast<Kind>(payload.kind) == Kind::kGoOn) {
    if (payload.subject == epoch_) go_on();
    return;
  }
  if (payload.subject != get_ || doing_ != Doing::kGet || read_) return;
  // The time-out of a get has passed: it goes on without the reader, and keeps its buffers.
  connector_->remote()->abandon();
  buffers_.clear();
  lose(parts_[part_], parts_[part_].first);
  end_part(false);
  go_on();
}

void LmcacheStep::go_on() {
  if (stage_ == Stage::kLookups) stage_ = Stage::kLoads;
  if (stage_ == Stage::kLoads) {
    if (!loads_done()) return;
    stage_ = Stage::kCompute;
    return place_.waiter.on_step_progress();
  }
  if (stage_ == Stage::kCompute) {
    stage_ = Stage::kStores;
    at_ = 0;
    copying_ = false;
    packing_ = false;
  }
  if (!stores_done()) return;
  stage_ = Stage::kOver;
  end_ = place_.queue.now();
  place_.waiter.on_step_progress();
}

void LmcacheStep::load(const StepPlan&, const StepTransfers&, Time now) {
  failed_.clear();
  at_ = 0;
  began_ = now;
  doing_ = Doing::kLocate;
  request_ = Handle{~0U};
  for (const LmcacheItem& item : connector_->items()) {
    if (item.loads) connector_->request(item.request).clock.on_load(LoadEvent::kSubmitted, now);
  }
  const Duration asked = connector_->take_lookup_time();
  stage_ = Stage::kLookups;
  if (asked > Duration(0)) return continue_at(now + asked);
  stage_ = Stage::kLoads;
  if (loads_done()) stage_ = Stage::kCompute;
}

/// Nothing to store: the step ends with its compute.
Duration LmcacheStep::begin_forward(const StepPlan&, Time now, Duration compute) {
  if (now > began_) {
    ++stalls_;
    stall_ += now - began_;
  }
  if (connector_->config().load == LoadSemantics::kLayerwise) {
    layered(now, compute);
    return Duration(0);
  }
  const auto& items = connector_->items();
  const bool stores = std::any_of(items.begin(), items.end(),
                                  [&](const LmcacheItem& item) { return decide_store(item); });
  if (stores) {
    continue_at(now + compute);
  } else {
    for (const LmcacheItem& item : items) {
      if (item.admitted) connector_->unpin(item.request);
    }
    stage_ = Stage::kOver;
    end_ = now + compute;
  }
  return Duration(0);
}

void LmcacheStep::end(const StepTransfers&, Time) {
  failed_.clear();
}

// ---- loads
// ---------------------------------------------------------------------------------------

bool LmcacheStep::loads_done() {
  const auto& items = connector_->items();
  for (; at_ < items.size(); ++at_) {
    if (!items[at_].loads) continue;
    if (request_ != items[at_].request) begin_load(items[at_]);
    if (!retrieve()) return false;
    request_ = Handle{~0U};
  }
  return true;
}

void LmcacheStep::begin_load(const LmcacheItem& item) {
  request_ = item.request;
  const LmcacheConnector::State& s = connector_->state(request_);
  known_ = s.found.known;
  ids_ = connector_->names(request_, known_, connector_->config().lmcache.save_unfull_chunk);
  first_ = s.local / connector_->config().lmcache.chunk_tokens;
  end_chunk_ = s.found.all();
  came_ = first_;
  lost_ = false;
  held_.clear();
  buffers_.clear();
  doing_ = Doing::kLocate;
  connector_->request(request_).clock.on_load(LoadEvent::kServed, place_.queue.now());
}

/// Goes on with the load; false where it waits.
bool LmcacheStep::retrieve() {
  if (doing_ == Doing::kLocate) {
    locate();
    part_ = 0;
    doing_ = Doing::kPart;
  }
  while (doing_ != Doing::kCopyUp && doing_ != Doing::kCopied) {
    if (!read_part()) return false;
  }
  if (doing_ == Doing::kCopyUp) {
    doing_ = Doing::kCopied;
    if (came_ > first_ && connector_->config().load != LoadSemantics::kLayerwise) {
      begin_copy_up();
      return false;
    }
  }
  end_load();
  return true;
}

/// Where one tier had all that the look-up found, it is read from there; else all are asked again,
/// in order (lmcache/v1/cache_engine.py, retrieve).
void LmcacheStep::locate() {
  parts_.clear();
  const auto& found = connector_->state(request_).found.chunks;
  for (std::size_t tier = 0; tier < found.size(); ++tier) {
    if (found[tier] != end_chunk_) continue;
    parts_.push_back({tier, first_, end_chunk_});
    return;
  }
  std::uint32_t at = first_;
  for (std::size_t tier = 0; tier < connector_->tiers(); ++tier) {
    const std::uint32_t begin = at;
    while (at < end_chunk_ && connector_->has(tier, ids_[at])) ++at;
    if (at > begin) parts_.push_back({tier, begin, at});
  }
  if (at < end_chunk_) {
    connector_->count_lost(connector_->tiers() - 1, end_chunk_ - at);
  }
}

/// One move further within the parts; false where it waits.
bool LmcacheStep::read_part() {
  if (part_ == parts_.size()) {
    doing_ = Doing::kCopyUp;
    return true;
  }
  const Part& part = parts_[part_];
  switch (doing_) {
    case Doing::kPart:
      chunk_ = part.first;
      part_whole_ = true;
      buffers_.clear();
      switch (connector_->kind(part.tier)) {
        case ChunkTierKind::kHost:
          hold(part);
          if (!lost_) came_ = part.end;
          ++part_;
          return true;
        case ChunkTierKind::kDisk:
          doing_ = Doing::kDiskChunk;
          return true;
        default:
          if (connector_->remote()->reachable()) {
            doing_ = Doing::kBuffers;
          } else {
            lose(part, part.first);
            end_part(false);
          }
          return true;
      }
    case Doing::kDiskChunk: {
      if (chunk_ == part.end) {
        end_part(true);
        return true;
      }
      if (!take_buffer(chunk_)) return false;
      ChunkTable& table = connector_->disk()->table();
      connector_->disk()->read(table.find(ids_[chunk_]));  // pinned: it is there
      doing_ = Doing::kDiskRead;
      return false;
    }
    case Doing::kDiskRead:
      ++chunk_;
      doing_ = Doing::kDiskChunk;
      return true;
    case Doing::kBuffers: {
      while (chunk_ < part.end) {
        if (!take_buffer(chunk_)) return false;
        ++chunk_;
      }
      return begin_get(part);
    }
    case Doing::kGet:
      doing_ = Doing::kUnpack;
      if (const Duration time = connector_->remote()->unpacking(buffers_); time > Duration(0)) {
        continue_at(place_.queue.now() + time);
        return false;
      }
      return true;
    case Doing::kUnpack:
      end_part(part_whole_);
      return true;
    default:
      KV_ASSERT(false, "a load that is over");
      return true;
  }
}

/// A buffer of host memory for the chunk; false where there is none yet.
bool LmcacheStep::take_buffer(std::uint32_t chunk) {
  const Bytes bytes = connector_->bytes_of(chunk, known_);
  const ChunkSlot slot = connector_->host().take_evicting(bytes);
  if (slot != kNoChunkSlot) {
    buffers_.push_back({ids_[chunk], bytes, slot});
    return true;
  }
  const bool writes = (connector_->disk() != nullptr && connector_->disk()->writes()) ||
                      (connector_->remote() != nullptr && connector_->remote()->writes());
  if (writes) {
    continue_at(place_.queue.now() + kRetry);
  } else {
    hangs_ = true;
  }
  return false;
}

/// Chunks of host memory stay until the load has ended, also those that came there after the
/// look-up and are not pinned (batched_get counts a reference).
void LmcacheStep::hold(const Part& part) {
  ChunkTable& host = connector_->host();
  for (std::uint32_t c = part.first; c < part.end; ++c) {
    const ChunkSlot slot = host.find(ids_[c]);
    host.use(slot);
    held_.push_back(slot);
  }
}

/// What came whole from behind host memory is kept there too.
void LmcacheStep::end_part(bool whole) {
  if (!lost_) came_ += static_cast<std::uint32_t>(buffers_.size());
  lost_ = lost_ || !whole;
  for (const ChunkCopy& copy : buffers_) {
    held_.push_back(copy.buffer);
    ChunkTable& host = connector_->host();
    if (whole && connector_->config().lmcache.local_cpu && host.find(copy.id) == kNoChunkSlot) {
      host.name(copy.buffer, copy.id);
    }
  }
  buffers_.clear();
  ++part_;
  doing_ = Doing::kPart;
}

/// The part's chunks from `from` on do not come.
void LmcacheStep::lose(const Part& part, std::uint32_t from) {
  part_whole_ = false;
  connector_->count_lost(part.tier, part.end - from);
}

/// One job for the chunks before the first that is gone; false while it is under way.
bool LmcacheStep::begin_get(const Part& part) {
  std::uint32_t there = part.first;
  while (there < part.end && connector_->has(part.tier, ids_[there])) ++there;
  if (there < part.end) lose(part, there);
  for (; buffers_.size() > there - part.first; buffers_.pop_back()) {
    connector_->host().done(buffers_.back().buffer);
  }
  if (buffers_.empty()) {
    end_part(false);
    return true;
  }
  connector_->remote()->get(buffers_);
  doing_ = Doing::kGet;
  read_ = false;
  place_.queue.schedule(place_.queue.now() + connector_->config().lmcache.blocking_timeout,
                        Phase::kStepStart, place_.rank, *this,
                        {static_cast<std::uint16_t>(Kind::kLate), 0, ++get_});
  return false;
}

/// Tokens count for the tier that they were read from, once a request.
void LmcacheStep::count_reads() {
  const LmcacheConnector::State& s = connector_->state(request_);
  if (!s.first) return;
  const std::uint32_t size = connector_->config().lmcache.chunk_tokens;
  for (const Part& part : parts_) {
    const std::uint32_t from = std::max(s.local, part.first * size);
    const std::uint32_t to = std::min(s.local + s.external, std::min(part.end, came_) * size);
    if (to > from) connector_->request(request_).cached_tokens[1 + part.tier] += to - from;
  }
}

void LmcacheStep::begin_copy_up() {
  Bytes bytes{0};
  for (std::uint32_t c = first_; c < came_; ++c) bytes += connector_->bytes_of(c, known_);
  const std::uint32_t tokens = std::min(came_ * connector_->config().lmcache.chunk_tokens, known_);
  const std::uint32_t block = connector_->config().block_tokens;
  const std::uint32_t blocks =
      (tokens - first_ * connector_->config().lmcache.chunk_tokens + block - 1) / block;
  path_->submit(Direction::kUp, 0, bytes, blocks * connector_->config().copies_per_block);
}

void LmcacheStep::end_load() {
  for (const ChunkSlot slot : held_) connector_->host().done(slot);
  held_.clear();
  count_reads();
  ActiveRequest& r = connector_->request(request_);
  r.clock.on_load(LoadEvent::kPaused, place_.queue.now());
  r.clock.on_load(LoadEvent::kEnded, place_.queue.now());
  if (came_ == end_chunk_) return;
  connector_->count_failure();
  LmcacheConnector::State& s = connector_->state(request_);
  const std::uint32_t block = connector_->config().block_tokens;
  const std::uint32_t size = connector_->config().lmcache.chunk_tokens;
  const std::uint32_t computed = std::max(s.local, came_ * size / block * block);
  s.saved = std::min(s.saved, computed);
  failed_.push_back({request_, !connector_->config().recompute_failed, computed});
}

// ---- stores
// --------------------------------------------------------------------------------------

/// Whether the step stores anything of the request.
bool LmcacheStep::decide_store(const LmcacheItem& item) {
  const LmcacheConfig& c = connector_->config().lmcache;
  const LmcacheConnector::State& s = connector_->state(item.request);
  if (s.decoding && !c.save_decode_cache) return false;
  if (s.saved > 0 && item.tokens < (s.saved / c.chunk_tokens + 1) * c.chunk_tokens) return false;
  const bool all = c.save_unfull_chunk && item.tokens >= connector_->request(item.request).prompt;
  if (!all && item.tokens < c.chunk_tokens) return false;
  return std::none_of(failed_.begin(), failed_.end(),
                      [&](const FailedLoad& f) { return f.request == item.request; });
}

bool LmcacheStep::stores_done() {
  const auto& items = connector_->items();
  for (; at_ < items.size(); ++at_) {
    if (!copying_) {
      if (items[at_].admitted) connector_->unpin(items[at_].request);
      if (!decide_store(items[at_])) continue;
    }
    if (!store()) return false;
  }
  return true;
}

/// Buffers for its chunks, one copy for all, then every backend in order; false while it copies.
bool LmcacheStep::store() {
  const LmcacheItem& item = connector_->items()[at_];
  if (packing_) {
    packing_ = false;
    copying_ = false;
    return true;
  }
  if (copying_) {
    const Duration time = hand_over();
    packing_ = time > Duration(0);
    if (packing_) continue_at(place_.queue.now() + time);
    copying_ = packing_;
    return !packing_;
  }
  const LmcacheConfig& c = connector_->config().lmcache;
  const bool layerwise = connector_->config().load == LoadSemantics::kLayerwise;
  LmcacheConnector::State& s = connector_->state(item.request);
  const bool all = c.save_unfull_chunk && item.tokens >= connector_->request(item.request).prompt;
  const std::uint32_t first = s.saved / c.chunk_tokens;
  s.saved = all ? item.tokens : item.tokens / c.chunk_tokens * c.chunk_tokens;
  const std::vector<ChunkId>& ids = connector_->names(item.request, s.saved, all);
  stored_.clear();
  Bytes& bytes = stored_bytes_;
  bytes = Bytes(0);
  for (std::uint32_t chunk = first; chunk < ids.size(); ++chunk) {
    if (layerwise && connector_->host().has(ids[chunk])) continue;
    const Bytes size = connector_->bytes_of(chunk, s.saved);
    const ChunkSlot slot = connector_->host().take_evicting(size);
    if (slot == kNoChunkSlot) {
      connector_->refuse(0, ids.size() - chunk);
      break;
    }
    stored_.push_back({ids[chunk], size, slot});
    bytes += size;
  }
  if (stored_.empty()) return true;
  if (layerwise) {
    hand_over();
    return true;
  }
  copying_ = true;
  const Bytes block = connector_->config().block_bytes;
  path_->submit(Direction::kDown, 0, bytes,
                static_cast<std::uint32_t>((bytes + block - Bytes(1)) / block) *
                    connector_->config().copies_per_block);
  return false;
}

/// Write-through to every backend; host memory discards what it has. The time that it takes to pack
/// what goes to the remote one.
Duration LmcacheStep::hand_over() {
  Duration packing{0};
  ChunkTable& host = connector_->host();
  for (const ChunkCopy& copy : stored_) {
    if (!connector_->config().lmcache.local_cpu) break;
    if (host.find(copy.id) == kNoChunkSlot) host.name(copy.buffer, copy.id);
  }
  if (connector_->disk() != nullptr) connector_->disk()->put(stored_);
  if (connector_->remote() != nullptr) packing = connector_->remote()->put(stored_);
  for (const ChunkCopy& copy : stored_) host.done(copy.buffer);
  stored_.clear();
  return packing;
}

// ---- layer by layer

/// Each layer loads, computes and stores its part, the three side by side. Nobody else looks at
/// host memory within the step, so when in it the stores are made does not matter.
void LmcacheStep::layered(Time now, Duration compute) {
  const auto copy = [&](const LinkModel& link, Bytes bytes) { return link.service_time(bytes, 1); };
  Duration down{0};
  Duration up{0};
  const auto& items = connector_->items();
  const LmcacheConfig& c = connector_->config().lmcache;
  for (at_ = 0; at_ < items.size(); ++at_) {
    const LmcacheItem& item = items[at_];
    const LmcacheConnector::State& s = connector_->state(item.request);
    if (item.loads) {
      Bytes bytes{0};
      for (std::uint32_t k = s.local / c.chunk_tokens; k < s.found.all(); ++k) {
        bytes += connector_->bytes_of(k, s.found.known);
      }
      const Duration took = copy(*config_.up, bytes);
      place_.observer.on_transfer({place_.up_link, bytes, 1, now + up, now + up, now + up + took});
      up += took;
    }
    if (item.admitted) connector_->unpin(item.request);
    if (!decide_store(item)) continue;
    store();
    const Bytes bytes = stored_bytes_;
    if (bytes == Bytes(0)) continue;
    const Duration took = copy(*config_.down, bytes);
    place_.observer.on_transfer(
        {place_.down_link, bytes, 1, now + down, now + down, now + down + took});
    down += took;
  }
  const std::int64_t layers = connector_->config().layers;
  const std::int64_t longest = std::max({up.count(), compute.count(), down.count()});
  const std::int64_t sum = up.count() + compute.count() + down.count() + (layers - 1) * longest;
  stage_ = Stage::kOver;
  end_ = now + Duration((sum + layers - 1) / layers);
}

void LmcacheStep::report(EngineStats& stats) const {
  stats.load_stalls = stalls_;
  stats.load_stall = stall_;
}

}  // namespace spillway
