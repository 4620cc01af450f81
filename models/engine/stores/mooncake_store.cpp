#include "models/engine/stores/mooncake_store.hpp"

#include <algorithm>
#include <numeric>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr WideInt kWhole = MooncakeConfig::kWhole;

/// ceil(count * part / whole)
std::uint64_t share_up(std::uint64_t count, WideInt part, WideInt whole) {
  const WideInt product = static_cast<WideInt>(count) * part;
  return product <= 0 ? 0 : static_cast<std::uint64_t>((product + whole - 1) / whole);
}

}  // namespace

MooncakeStore::MooncakeStore(const MooncakeConfig& config, const Size& size)
    : config_(config),
      size_(size),
      segment_(size.memory / std::int64_t{config.segments}),
      free_(config.segments, segment_),
      order_(config.segments),
      object_of_key_(size.keys) {
  KV_ASSERT(segment_ > Bytes(0), "segments without a byte");
}

// ---- puts

std::optional<MooncakeStore::Put> MooncakeStore::put_start(BlockId key, Bytes bytes,
                                                           const StoreHints& hints, Time now) {
  if (const std::uint32_t known = object_of_key_[raw(key)]; known > 0) {
    Object& there = objects_[known - 1];
    if (there.state == State::kComplete || now <= there.start + config_.put_discard) {
      ++counters_.put_exists;
      return std::nullopt;
    }
    there.state = State::kAbandoned;  // its space becomes free at its own time
    object_of_key_.place(raw(key)) = 0;
    ++counters_.discarded;
  }
  const std::uint32_t number = make_object();
  Object& o = objects_[number];
  const std::uint32_t replicas = place(bytes, o.replicas);
  if (replicas == 0) {
    unused_.push_back(number);
    ++counters_.put_failures;
    requested_ = true;
    return std::nullopt;
  }
  o.key = key;
  o.state = State::kUnfinished;
  o.soft = hints.soft();
  o.hard = hints.hard();
  o.queued = false;
  o.on_ssd = 0;
  o.bytes = bytes;
  o.number = ++numbers_;
  o.start = now;
  o.pin = 0;
  object_of_key_.place(raw(key)) = number + 1;
  starts_.push_back({now + config_.put_release, number, o.number});
  return Put{number, o.number, replicas};
}

std::uint32_t MooncakeStore::make_object() {
  if (unused_.empty()) {
    objects_.emplace_back();
    return static_cast<std::uint32_t>(objects_.size() - 1);
  }
  const std::uint32_t number = unused_.back();
  unused_.pop_back();
  return number;
}

/// Takes room in the segments with most free bytes, as many as replicas are wanted and have room.
std::uint32_t MooncakeStore::place(Bytes bytes, std::vector<Replica>& out) {
  out.clear();
  std::iota(order_.begin(), order_.end(), 0U);
  const std::size_t most = std::min<std::size_t>(config_.replicas, order_.size());
  std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(most),
                    order_.end(), [this](std::uint32_t a, std::uint32_t b) {
                      return free_[a] != free_[b] ? free_[a] > free_[b] : a < b;
                    });
  for (std::size_t i = 0; i < most && free_[order_[i]] >= bytes; ++i) {
    free_[order_[i]] -= bytes;
    out.push_back({order_[i], false});
  }
  const auto placed = static_cast<std::uint32_t>(out.size());
  used_ += bytes * std::int64_t{placed};
  replicas_ += placed;
  counters_.peak_bytes = std::max(counters_.peak_bytes, used_.count());
  return placed;
}

MooncakeStore::Object* MooncakeStore::object_of(const Put& put) {
  Object& o = objects_[put.object];
  return o.state != State::kNone && o.number == put.number ? &o : nullptr;
}

void MooncakeStore::put_end(const Put& put, Time now) {
  Object* o = object_of(put);
  if (o == nullptr || o->state != State::kUnfinished) return;
  o->state = State::kComplete;
  o->lease = now;
  o->soft_until = now + config_.soft_pin;
  ++counters_.stored;
  quiet_until_ = {};
  if (!config_.offload || config_.offload_on_evict) return;
  counters_.not_queued += queue_for_ssd(put.object, now) ? 0 : 1;
}

MooncakeStore::Source MooncakeStore::find(BlockId key, Time now) {
  const std::uint32_t known = object_of_key_[raw(key)];
  if (known == 0) return Source::kNowhere;
  Object& o = objects_[known - 1];
  if (o.state != State::kComplete) return Source::kNowhere;
  o.lease = std::max(o.lease, now + config_.lease);
  return o.replicas.empty() ? Source::kSsd : Source::kMemory;
}

// ---- what ends by itself

void MooncakeStore::free_abandoned(Time now) {
  while (!starts_.empty() && starts_.front().at <= now) {
    const Expiry due = starts_.front();
    starts_.pop_front();
    Object* o = object_of({due.object, due.number, 0});
    if (o == nullptr || o->state == State::kComplete) continue;
    counters_.discarded += o->state == State::kUnfinished ? 1 : 0;
    drop_replicas(*o);
    forget(*o);
  }
}

void MooncakeStore::expire_pins(Time now) {
  while (!pin_ends_.empty() && pin_ends_.front().at <= now) {
    const Expiry due = pin_ends_.front();
    pin_ends_.pop_front();
    Object& o = objects_[due.object];
    if (o.pin != due.number) continue;
    ++counters_.pins_expired;
    unpin(o);
  }
}

Time MooncakeStore::next_expiry() {
  // What has ended in time does not have to be looked at.
  while (!starts_.empty()) {
    const Object* o = object_of({starts_.front().object, starts_.front().number, 0});
    if (o != nullptr && o->state != State::kComplete) break;
    starts_.pop_front();
  }
  while (!pin_ends_.empty() && objects_[pin_ends_.front().object].pin != pin_ends_.front().number) {
    pin_ends_.pop_front();
  }
  Time next = Time::max();
  if (!starts_.empty()) next = starts_.front().at;
  if (!pin_ends_.empty()) next = std::min(next, pin_ends_.front().at);
  return next;
}

/// Its replicas that are not pinned leave memory.
void MooncakeStore::drop_replicas(Object& o) {
  const auto gone = std::remove_if(o.replicas.begin(), o.replicas.end(), [&](const Replica& r) {
    if (r.pinned) return false;
    free_[r.segment] += o.bytes;
    used_ -= o.bytes;
    --replicas_;
    return true;
  });
  o.replicas.erase(gone, o.replicas.end());
}

/// It is nowhere any longer.
void MooncakeStore::forget(Object& o) {
  KV_ASSERT(o.replicas.empty() && o.on_ssd == 0 && o.pin == 0, "an object goes that is still held");
  const auto number = static_cast<std::uint32_t>(&o - objects_.data());
  if (object_of_key_[raw(o.key)] == number + 1) object_of_key_.place(raw(o.key)) = 0;
  o.state = State::kNone;
  unused_.push_back(number);
}

void MooncakeStore::unpin(Object& o) {
  if (o.pin == 0) return;
  o.pin = 0;
  for (Replica& r : o.replicas) r.pinned = false;
  quiet_until_ = {};
}

// ---- eviction

bool MooncakeStore::over_watermark() const {
  return static_cast<WideInt>(used_.count()) * kWhole >
         static_cast<WideInt>(config_.high_watermark) * size_.memory.count();
}

bool MooncakeStore::evictable(const Object& o) const {
  return o.state == State::kComplete && !o.hard &&
         std::any_of(o.replicas.begin(), o.replicas.end(),
                     [](const Replica& r) { return !r.pinned; });
}

/// Fills the candidates, in their order; returns the objects of which shares are taken.
std::uint64_t MooncakeStore::collect(Time now) {
  plain_.clear();
  soft_.clear();
  std::uint64_t base = 0;
  Time first_lease = Time::max();
  for (std::uint32_t i = 0; i < objects_.size(); ++i) {
    const Object& o = objects_[i];
    if (!evictable(o)) continue;
    ++base;
    first_lease = std::min(first_lease, o.lease);
    if (o.lease > now) continue;
    const bool pinned = o.soft && o.soft_until > now;
    (pinned ? soft_ : plain_).push_back({o.lease, o.number, i});
  }
  std::sort(plain_.begin(), plain_.end());
  std::sort(soft_.begin(), soft_.end());
  no_base_ = base == 0;
  quiet_until_ = first_lease;  // leases only move on
  return base;
}

void MooncakeStore::check(Time now) {
  if (!wants_check()) return;
  ++counters_.checks;
  const std::uint64_t before = counters_.evicted;
  queued_in_check_ = 0;
  const std::uint64_t base = now < quiet_until_ ? 0 : collect(now);
  if (base > 0) evict_from(base, now);
  const bool done = counters_.evicted > before || queued_in_check_ > 0;
  if (done || no_base_) requested_ = false;
  counters_.idle_checks += done ? 0 : 1;
}

void MooncakeStore::evict_from(std::uint64_t base, Time now) {
  // Shares as parts of `whole`: used / total, watermark and ratio over one denominator, doubled.
  const WideInt total = size_.memory.count();
  const WideInt whole = 2 * total * kWhole;
  const WideInt over = 2 * (static_cast<WideInt>(used_.count()) * kWhole -
                            static_cast<WideInt>(config_.high_watermark) * total);
  const WideInt ratio = 2 * static_cast<WideInt>(config_.eviction_ratio) * total;
  const WideInt target = std::max(ratio, over + ratio);
  const WideInt least = std::max(target / 2, over);

  const std::uint64_t wanted =
      std::min<std::uint64_t>(share_up(base, target, whole), plain_.size());
  std::uint64_t freed = 0;
  std::size_t left = 0;  // plain candidates behind those that were tried
  if (wanted > 0) {
    const Time limit = plain_[wanted - 1].lease;  // ties with the last go too
    for (; left < plain_.size(); ++left) {
      if (plain_[left].lease > limit && freed >= wanted) break;
      freed += evict(plain_[left].object, now) ? 1 : 0;
    }
  }
  const std::uint64_t needed = share_up(base, least, whole);
  if (freed >= needed) return;
  for (; left < plain_.size() && freed < needed; ++left) {
    freed += evict(plain_[left].object, now) ? 1 : 0;
  }
  if (!config_.evict_soft_pinned) return;
  for (std::size_t i = 0; i < soft_.size() && freed < needed; ++i) {
    freed += evict(soft_[i].object, now) ? 1 : 0;
  }
}

/// Whether it freed memory; else it waits for the SSD, or stays.
bool MooncakeStore::evict(std::uint32_t object, Time now) {
  // Where a replica is pinned for the SSD, the others are only copies of it.
  if (config_.offloads_on_evict() && objects_[object].on_ssd == 0 && objects_[object].pin == 0) {
    const auto cap = static_cast<std::uint64_t>(static_cast<WideInt>(config_.queue_limit) *
                                                config_.offload_cap / kWhole);
    const bool forced = config_.offload_force_evict && queued_in_check_ >= cap;
    if (!forced && queue_for_ssd(object, now)) {
      ++queued_in_check_;
      return false;
    }
    if (!config_.offload_force_evict) return false;
    ++counters_.forced;
  }
  Object& o = objects_[object];
  const Bytes before = used_;
  drop_replicas(o);
  ++counters_.evicted;
  counters_.evicted_bytes += static_cast<std::uint64_t>((before - used_).count());
  if (o.replicas.empty() && o.on_ssd == 0) forget(o);
  return true;
}

// ---- the SSD

/// Queues the object for the SSD and pins a replica; false where the queue is full. The queue has
/// an object once (a map upstream); one that a heartbeat has taken is queued anew when its pin
/// ends.
bool MooncakeStore::queue_for_ssd(std::uint32_t object, Time now) {
  if (queue_.size() >= config_.queue_limit) return false;
  Object& o = objects_[object];
  if (!o.queued) queue_.push_back({{object, o.number, 0}, o.bytes});
  o.queued = true;
  ++counters_.queued;
  o.pin = ++pins_;
  pin_ends_.push_back({now + config_.put_release, object, o.pin});
  o.replicas.front().pinned = true;
  return true;
}

std::span<const MooncakeStore::Bucket> MooncakeStore::heartbeat() {
  full_.clear();
  Bucket open;
  const auto close = [&] {
    full_.push_back(std::move(open));
    open = Bucket();
  };
  const auto add = [&](const Entry& entry) {
    if (!open.entries.empty() && open.bytes + entry.bytes > config_.bucket_bytes) close();
    open.entries.push_back(entry);
    open.bytes += entry.bytes;
    if (open.entries.size() >= config_.bucket_keys || open.bytes >= config_.bucket_bytes) close();
  };
  for (const Entry& entry : residue_) add(entry);
  for (const Entry& entry : queue_) {
    if (Object* o = object_of(entry.put)) o->queued = false;
    add(entry);
  }
  queue_.clear();
  residue_ = std::move(open.entries);
  return full_;
}

void MooncakeStore::written(const Bucket& bucket, bool last) {
  const bool fits = make_room(bucket.bytes);
  for (const Entry& entry : bucket.entries) {
    Object* o = object_of(entry.put);
    if (o == nullptr || !fits) ++counters_.ssd_lost;
    if (o == nullptr) continue;
    unpin(*o);
    if (!fits) continue;
    on_ssd_ += o->on_ssd++ == 0 ? 1 : 0;
    ++counters_.ssd_stored;
  }
  if (fits) {
    ssd_used_ += bucket.bytes;
    counters_.ssd_peak_bytes = std::max(counters_.ssd_peak_bytes, ssd_used_.count());
    buckets_.push_back(bucket);
  }
  if (!last) return;
  const auto above = [&](std::int64_t mark) {
    return static_cast<WideInt>(ssd_used_.count()) * kWhole >
           static_cast<WideInt>(mark) * size_.ssd.count();
  };
  if (!above(config_.ssd_high_watermark)) return;
  while (above(config_.ssd_low_watermark) && !buckets_.empty()) drop_oldest_bucket();
}

/// False where the bucket is larger than the SSD.
bool MooncakeStore::make_room(Bytes bytes) {
  while (ssd_used_ + bytes > size_.ssd && !buckets_.empty()) drop_oldest_bucket();
  return ssd_used_ + bytes <= size_.ssd;
}

void MooncakeStore::drop_oldest_bucket() {
  const Bucket oldest = std::move(buckets_.front());
  buckets_.pop_front();
  ssd_used_ -= oldest.bytes;
  for (const Entry& entry : oldest.entries) {
    Object* o = object_of(entry.put);
    if (o == nullptr || o->on_ssd == 0) continue;
    ++counters_.ssd_evicted;
    if (--o->on_ssd > 0) continue;
    --on_ssd_;
    if (o->replicas.empty()) forget(*o);
  }
}

void MooncakeStore::check_consistent() const {
  Bytes held{0};
  std::uint32_t replicas = 0;
  std::uint32_t on_ssd = 0;
  std::vector<Bytes> by_segment(free_.size());
  for (const Object& o : objects_) {
    if (o.state == State::kNone) continue;
    KV_ASSERT(!o.replicas.empty() || o.on_ssd > 0, "an object of block {} is nowhere", raw(o.key));
    for (const Replica& r : o.replicas) by_segment[r.segment] += o.bytes;
    held += o.bytes * static_cast<std::int64_t>(o.replicas.size());
    replicas += static_cast<std::uint32_t>(o.replicas.size());
    on_ssd += o.on_ssd > 0 ? 1 : 0;
  }
  for (std::size_t i = 0; i < free_.size(); ++i) {
    KV_ASSERT(by_segment[i] + free_[i] == segment_, "segment {}: {} bytes held, {} free of {}", i,
              by_segment[i].count(), free_[i].count(), segment_.count());
  }
  KV_ASSERT(held == used_ && replicas == replicas_ && on_ssd == on_ssd_,
            "objects hold {} bytes in {} replicas, {} are counted in {}", held.count(), replicas,
            used_.count(), replicas_);
}

}  // namespace spillway
