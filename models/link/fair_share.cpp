#include "models/link/fair_share.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr int kFractionBits = 60;
/// Rates are rounded down; a flow that lacks less than this of its bytes has moved them all.
constexpr WideInt kLacking = WideInt{1} << (kFractionBits - 16);
constexpr std::uint16_t kGroupEvent = 0x8000;
constexpr std::uint32_t kEpochMask = 0x7fff'ffff;

WideInt wide_ceil_div(WideInt a, WideInt b) {
  return (a + b - 1) / b;
}

Duration time_for(WideInt bytes, FairShare::Rate rate) {
  const WideInt time = wide_ceil_div(bytes, rate);
  return at_most_longest(time);
}

EventPayload payload_of(bool group, std::uint32_t subject, std::uint32_t epoch) {
  const std::uint32_t kept = epoch & kEpochMask;
  const auto high = static_cast<std::uint16_t>(kept >> 16);
  return {static_cast<std::uint16_t>(group ? kGroupEvent | high : high),
          static_cast<std::uint16_t>(kept), subject};
}

std::uint32_t epoch_of(EventPayload payload) {
  return (static_cast<std::uint32_t>(payload.kind & ~kGroupEvent) << 16) | payload.epoch;
}

}  // namespace

// ---- media and groups
// ---------------------------------------------------------------------------

MediumId FairShare::add_medium(std::int64_t bytes_per_second) {
  return add_medium({&bytes_per_second, 1});
}

MediumId FairShare::add_medium(std::span<const std::int64_t> bytes_per_second_by_flows) {
  KV_ASSERT(!bytes_per_second_by_flows.empty(), "a medium without a rate");
  Medium medium;
  for (const std::int64_t rate : bytes_per_second_by_flows) {
    KV_ASSERT(rate > 0, "a medium of {} bytes/s", rate);
    medium.capacities.push_back((static_cast<WideInt>(rate) << kFractionBits) / 1'000'000'000);
  }
  media_.push_back(std::move(medium));
  return MediumId{static_cast<Id>(media_.size() - 1)};
}

FairShare::GroupId FairShare::group_of(std::span<const MediumId> media) {
  KV_ASSERT(!connected_, "a route added after the first flow");
  Group group;
  for (const MediumId medium : media) group.media.push_back(static_cast<Id>(medium));
  std::sort(group.media.begin(), group.media.end());
  KV_ASSERT(std::adjacent_find(group.media.begin(), group.media.end()) == group.media.end(),
            "a flow crosses a medium twice");
  for (Id i = 0; i < groups_.size(); ++i) {
    if (groups_[i].media == group.media) return GroupId{i};
  }
  const Id id = static_cast<Id>(groups_.size());
  for (const Id medium : group.media) media_[medium].groups.push_back(id);
  groups_.push_back(std::move(group));
  return GroupId{id};
}

/// Groups and media that hang together are shared anew together.
void FairShare::connect() {
  connected_ = true;
  for (Id first = 0; first < groups_.size(); ++first) {
    if (groups_[first].component != kNone) continue;
    const Id id = static_cast<Id>(components_.size());
    Component component;
    std::vector<Id> open = {first};
    groups_[first].component = id;
    while (!open.empty()) {
      const Id group = open.back();
      open.pop_back();
      component.groups.push_back(group);
      for (const Id medium : groups_[group].media) {
        if (media_[medium].component != kNone) continue;
        media_[medium].component = id;
        component.media.push_back(medium);
        for (const Id next : media_[medium].groups) {
          if (groups_[next].component != kNone) continue;
          groups_[next].component = id;
          open.push_back(next);
        }
      }
    }
    std::sort(component.groups.begin(), component.groups.end());
    std::sort(component.media.begin(), component.media.end());
    components_.push_back(std::move(component));
  }
}

// ---- flows
// --------------------------------------------------------------------------------------

FairShare::Rate FairShare::rate_of(Bytes payload, Duration alone, std::int64_t speed,
                                   std::int64_t full_speed) {
  KV_ASSERT(payload.count() < std::int64_t{1} << 50, "a flow of {} bytes", payload.count());
  const WideInt bytes = static_cast<WideInt>(payload.count()) << kFractionBits;
  const WideInt own = bytes / std::max<std::int64_t>(alone.count(), 1);
  return speed == full_speed ? own : own * speed / full_speed;
}

void FairShare::start(GroupId group, std::uint32_t flow, const Load& load) {
  if (!connected_) connect();
  if (flow >= flows_.size()) flows_.resize(std::max<std::size_t>(flow + 1, 2 * flows_.size()));
  KV_ASSERT(flows_[flow].bucket == kNone, "flow {} started twice", flow);
  for (const Id medium : groups_[static_cast<Id>(group)].media) {
    if (media_[medium].flows++ == 0) media_[medium].busy_since = queue_.now();
  }
  // Rounded like its rate, or a flow alone would end late; and not so that it would end early.
  const std::int64_t time = std::max<std::int64_t>(load.alone.count(), 1);
  const WideInt bytes = std::max(load.own * time - kLacking, load.own * (time - 1) + 1);
  join(flow, static_cast<Id>(group), load.maximum, bytes);
}

void FairShare::set_maximum(std::uint32_t flow, Rate maximum) {
  const Bucket& bucket = buckets_[flows_[flow].bucket];
  if (bucket.maximum == maximum) return;
  const Id group = bucket.group;
  const WideInt left = leave(flow);
  join(flow, group, maximum, left);
}

FairShare::Id FairShare::bucket_of(Id group, Rate maximum) {
  Group& g = groups_[group];
  const auto at = std::lower_bound(g.buckets.begin(), g.buckets.end(), maximum,
                                   [](const Slot& slot, Rate rate) { return slot.maximum < rate; });
  if (at != g.buckets.end() && at->maximum == maximum) return at->bucket;
  const Id id = buckets_.take();
  Bucket& b = buckets_[id];
  b.group = group;
  b.maximum = maximum;
  b.since = queue_.now();
  b.moved = 0;
  b.limited = maximum > g.level;
  if (b.limited) {
    if (g.limited++ == 0) {
      g.moved = 0;
      g.since = queue_.now();
      g.gift_at = kNoEvent;
    }
    b.moved = -moved_now(g);
  }
  g.buckets.insert(at, {maximum, id});
  g.stale = true;
  return id;
}

void FairShare::drop_bucket(Id bucket) {
  Bucket& b = buckets_[bucket];
  Group& g = groups_[b.group];
  const auto at = std::lower_bound(g.buckets.begin(), g.buckets.end(), b.maximum,
                                   [](const Slot& slot, Rate rate) { return slot.maximum < rate; });
  g.buckets.erase(at);
  g.stale = true;
  if (b.limited) --g.limited;
  b.group = kNone;
  b.event = kNoEvent;
  ++b.epoch;
  buckets_.release(bucket);
}

void FairShare::join(Id flow, Id group, Rate maximum, WideInt bytes) {
  const Id id = bucket_of(group, maximum);
  Bucket& b = buckets_[id];
  const WideInt end = moved_now(b) + bytes;
  const bool was_empty = b.flows.empty();
  flows_[flow].bucket = id;
  b.flows.push({end, order_++, flow},
               [this](Id which, std::uint32_t at) { flows_[which].position = at; });
  if (b.limited) {
    ++groups_[group].limited_flows;
    if (was_empty) {
      groups_[group].ends.push(
          {b.flows.front().key - b.moved, order_++, id},
          [this](Id which, std::uint32_t at) { buckets_[which].position = at; });
    } else {
      rekey(id);
    }
  }
  ++groups_[group].flows;
  groups_[group].joined = queue_.now();
  touch(group);
  changed_.push_back(id);
}

/// Takes a flow out of its bucket; what it has not moved yet.
WideInt FairShare::leave(Id flow) {
  const Id id = flows_[flow].bucket;
  Bucket& b = buckets_[id];
  const WideInt left = b.flows.at(flows_[flow].position).key - moved_now(b);
  b.flows.erase(flows_[flow].position,
                [this](Id which, std::uint32_t at) { flows_[which].position = at; });
  flows_[flow].bucket = kNone;
  if (b.limited) {
    --groups_[b.group].limited_flows;
    if (b.flows.empty()) {
      groups_[b.group].ends.erase(
          b.position, [this](Id which, std::uint32_t at) { buckets_[which].position = at; });
    } else {
      rekey(id);
    }
  }
  --groups_[b.group].flows;
  touch(b.group);
  changed_.push_back(id);
  return std::max<WideInt>(left, 0);
}

void FairShare::touch(Id group) {
  Group& g = groups_[group];
  g.stale = true;
  Component& component = components_[g.component];
  if (component.dirty) return;
  component.dirty = true;
  dirty_.push_back(g.component);
}

WideInt FairShare::moved_now(const Group& g) const {
  return g.limited == 0 ? g.moved : g.moved + g.level * (queue_.now() - g.since).count();
}

WideInt FairShare::moved_now(const Bucket& b) const {
  return b.limited ? moved_now(groups_[b.group]) + b.moved
                   : b.moved + b.maximum * (queue_.now() - b.since).count();
}

// ---- sides of the level
// -------------------------------------------------------------------------

/// The bucket's first end among those of the group's limited buckets.
void FairShare::rekey(Id bucket) {
  Bucket& b = buckets_[bucket];
  WideHeap& ends = groups_[b.group].ends;
  const WideInt key = b.flows.front().key - b.moved;
  if (ends.at(b.position).key == key) return;
  ends.rekey(b.position, key,
             [this](Id which, std::uint32_t at) { buckets_[which].position = at; });
}

void FairShare::enter_limited(Id bucket) {
  Bucket& b = buckets_[bucket];
  Group& g = groups_[b.group];
  const WideInt moved = moved_now(b);
  if (g.limited++ == 0) {
    g.moved = 0;
    g.since = queue_.now();
    g.gift_at = kNoEvent;
  }
  b.moved = moved - moved_now(g);
  b.limited = true;
  g.limited_flows += static_cast<std::uint32_t>(b.flows.size());
  if (b.event != kNoEvent) {
    b.event = kNoEvent;
    ++b.epoch;
  }
  g.ends.push({b.flows.front().key - b.moved, order_++, bucket},
              [this](Id which, std::uint32_t at) { buckets_[which].position = at; });
}

void FairShare::leave_limited(Id bucket) {
  Bucket& b = buckets_[bucket];
  Group& g = groups_[b.group];
  g.ends.erase(b.position, [this](Id which, std::uint32_t at) { buckets_[which].position = at; });
  b.moved = moved_now(b);
  b.since = queue_.now();
  b.limited = false;
  g.limited_flows -= static_cast<std::uint32_t>(b.flows.size());
  --g.limited;
  schedule_bucket(bucket);
}

// ---- sharing
// ------------------------------------------------------------------------------------

void FairShare::settle() {
  if (dirty_.empty()) return;
  for (const Id bucket : changed_) {
    const Bucket& b = buckets_[bucket];
    if (b.group != kNone && b.flows.empty()) drop_bucket(bucket);
  }
  for (const Id component : dirty_) {
    components_[component].dirty = false;
    solve(components_[component]);
  }
  dirty_.clear();
  for (const Id bucket : changed_) {
    const Bucket& b = buckets_[bucket];
    if (b.group != kNone && !b.limited) schedule_bucket(bucket);
  }
  changed_.clear();
}

/// Progressive filling: the medium that is full at the lowest level fixes the level of its groups;
/// then the others share what these leave.
void FairShare::solve(Component& component) {
  for (const Id medium : component.media) media_[medium].left = media_[medium].capacity();
  for (const Id group : component.groups) {
    groups_[group].frozen = groups_[group].flows == 0;
    groups_[group].next_level = kUnlimited;
  }
  for (;;) {
    Rate lowest = kUnlimited;
    Id bottleneck = kNone;
    for (const Id medium : component.media) {
      const Rate level = fill(media_[medium]);
      if (level >= lowest) continue;
      lowest = level;
      bottleneck = medium;
    }
    if (bottleneck == kNone) break;
    for (const Id group : media_[bottleneck].groups) {
      Group& g = groups_[group];
      if (g.frozen) continue;
      g.frozen = true;
      g.next_level = lowest;
      if (component.media.size() == 1) continue;
      const Rate taken = demand(g, lowest);
      for (const Id medium : g.media) media_[medium].left -= taken;
    }
  }
  for (const Id group : component.groups) apply(group);
  for (const Id medium : component.media) {
    Rate used = 0;
    for (const Id group : media_[medium].groups) {
      if (groups_[group].flows > 0) used += demand(groups_[group], groups_[group].level);
    }
    KV_ASSERT(used <= media_[medium].capacity(), "medium {} would move more than it can", medium);
  }
}

/// The level at which the medium is full, counting only groups that have none yet; unlimited where
/// their maxima do not fill it. Newton's method from below on a concave function: it never
/// overshoots.
FairShare::Rate FairShare::fill(const Medium& medium) {
  std::uint32_t flows = 0;
  for (const Id group : medium.groups) {
    if (!groups_[group].frozen) flows += groups_[group].flows;
  }
  if (flows == 0) return kUnlimited;
  Rate level = medium.left / flows;
  for (;;) {
    Below all{0, 0};
    for (const Id group : medium.groups) {
      if (groups_[group].frozen) continue;
      const Below part = below(groups_[group], level);
      all.sum += part.sum;
      all.flows += part.flows;
    }
    if (all.flows == flows) return kUnlimited;
    if (all.flows == 0) return level;
    const Rate next = (medium.left - all.sum) / (flows - all.flows);
    if (next <= level) return level;
    level = next;
  }
}

/// The flows whose maximum is at most `level`, and the sum of their maxima.
FairShare::Below FairShare::below(Group& group, Rate level) {
  if (group.buckets.empty() || group.buckets.front().maximum > level) return {0, 0};
  if (group.stale) {
    group.stale = false;
    group.sums.clear();
    group.counts.clear();
    Below all{0, 0};
    for (const Slot& slot : group.buckets) {
      const auto flows = static_cast<std::uint32_t>(buckets_[slot.bucket].flows.size());
      all.sum += slot.maximum * flows;
      all.flows += flows;
      group.sums.push_back(all.sum);
      group.counts.push_back(all.flows);
    }
  }
  const auto end =
      std::upper_bound(group.buckets.begin(), group.buckets.end(), level,
                       [](Rate rate, const Slot& slot) { return rate < slot.maximum; });
  const auto last = static_cast<std::size_t>(end - group.buckets.begin()) - 1;
  return {group.sums[last], group.counts[last]};
}

FairShare::Rate FairShare::demand(Group& group, Rate level) {
  const Below part = below(group, level);
  return part.flows == group.flows ? part.sum : part.sum + level * (group.flows - part.flows);
}

/// Gives the group its new level and moves buckets to the side they belong to.
void FairShare::apply(Id group) {
  Group& g = groups_[group];
  if (g.level != g.next_level) {
    g.moved = moved_now(g);
    g.since = queue_.now();
    g.gift_at = kNoEvent;
    g.level = g.next_level;
    while (g.limited > 0) {
      const Slot& lowest = g.buckets[g.buckets.size() - g.limited];
      if (lowest.maximum > g.level) break;
      leave_limited(lowest.bucket);
    }
    while (g.limited < g.buckets.size()) {
      const Slot& highest = g.buckets[g.buckets.size() - g.limited - 1];
      if (highest.maximum <= g.level) break;
      enter_limited(highest.bucket);
    }
  }
  schedule_group(group);
}

// ---- ends
// ---------------------------------------------------------------------------------------

void FairShare::schedule_bucket(Id bucket) {
  Bucket& b = buckets_[bucket];
  if (b.flows.empty()) return;
  const WideHeap::Item& first = b.flows.front();
  const WideInt left = std::max<WideInt>(first.key - moved_now(b), 0);
  const Time at = queue_.now() + time_for(left, b.maximum);
  if (b.event <= at) return;  // it will look again then
  b.event = at;
  queue_.schedule(at, Phase::kTransferDone, *this, payload_of(false, bucket, ++b.epoch));
}

void FairShare::schedule_group(Id group) {
  Group& g = groups_[group];
  if (g.ends.empty()) return;
  const WideHeap::Item& first = g.ends.front();
  const WideInt left = std::max<WideInt>(first.key - moved_now(g), 0);
  const Time at = queue_.now() + time_for(left, g.level);
  if (g.event <= at) return;
  g.event = at;
  queue_.schedule(at, Phase::kTransferDone, *this, payload_of(true, group, ++g.epoch));
}

/// Ends the flows of a bucket that have moved all they had.
void FairShare::take_due(Id bucket) {
  for (;;) {
    const Bucket& b = buckets_[bucket];
    if (b.flows.empty()) return;
    const WideInt beyond = moved_now(b) - b.flows.front().key;
    if (beyond < 0) return;
    const Id flow = b.flows.front().id;
    KV_ASSERT(beyond < b.maximum, "flow {} moved more than it had", flow);
    for (const Id medium : groups_[b.group].media) {
      if (--media_[medium].flows == 0) {
        media_[medium].busy += queue_.now() - media_[medium].busy_since;
      }
    }
    const Id group = b.group;
    leave(flow);
    done_.push_back(flow);
    if (beyond > kLacking) give_back(group, beyond);
  }
}

/// A flow ended within the nanosecond that is over now: what its share moved after that end belongs
/// to those that shared with it all through that nanosecond, as far as their maxima allow. Only
/// where one medium decides; elsewhere a share is free at the whole nanosecond.
void FairShare::give_back(Id group, WideInt bytes) {
  Group& g = groups_[group];
  const Time now = queue_.now();
  if (g.ends.empty() || components_[g.component].media.size() > 1) return;
  if (g.joined == now || (g.since == now && g.gift_at != now)) return;
  if (g.gift_at != now) g.gift = 0;
  std::size_t first = g.buckets.size() - g.limited;
  while (buckets_[g.buckets[first].bucket].flows.empty()) ++first;
  const Rate spare = g.buckets[first].maximum - g.level - g.gift;  // times one nanosecond
  const WideInt each = std::clamp<WideInt>((bytes - kLacking) / g.limited_flows, 0, spare);
  g.moved = moved_now(g) + each;
  g.since = now;
  g.gift += each;
  g.gift_at = now;
}

void FairShare::on_event(EventPayload payload) {
  const Id subject = payload.subject;
  done_.clear();
  if ((payload.kind & kGroupEvent) != 0) {
    Group& g = groups_[subject];
    if (epoch_of(payload) != (g.epoch & kEpochMask)) return;
    g.event = kNoEvent;
    for (std::size_t ended = 1; ended > 0 && !g.ends.empty();) {
      ended = done_.size();
      take_due(g.ends.front().id);
      ended = done_.size() - ended;
    }
    if (done_.empty()) return schedule_group(subject);
  } else {
    if (epoch_of(payload) != (buckets_[subject].epoch & kEpochMask)) return;
    buckets_[subject].event = kNoEvent;
    take_due(subject);
    if (done_.empty()) return schedule_bucket(subject);
  }
  listener_.on_flows_done(done_);
}

Duration FairShare::busy(MediumId medium) const {
  const Medium& m = media_[static_cast<Id>(medium)];
  return m.flows == 0 ? m.busy : m.busy + (queue_.now() - m.busy_since);
}

BytesPerSecond FairShare::rate_now(MediumId medium) const {
  WideInt used = 0;
  for (const Id group : media_[static_cast<Id>(medium)].groups) {
    for (const Slot& slot : groups_[group].buckets) {
      used += std::min(slot.maximum, groups_[group].level) *
              static_cast<std::int64_t>(buckets_[slot.bucket].flows.size());
    }
  }
  const double unit = static_cast<double>(std::int64_t{1} << kFractionBits);
  return BytesPerSecond(static_cast<double>(used) / unit * 1e9);
}

}  // namespace spillway
