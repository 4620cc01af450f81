#include "models/link/fabric.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr int kSpeedBits = 16;
constexpr std::int64_t kFullSpeed = std::int64_t{1} << kSpeedBits;
constexpr std::int64_t kMostWork = std::int64_t{1} << (62 - kSpeedBits);

// An event's kind in the top bits, the rest of `kind` and `epoch` tell stale events from the one
// that holds; subject: the job (the station for kSubmitted, which is never stale).
enum Kind : std::uint16_t { kServed, kLatencyOver, kFirstCopy, kSubmitted, kLastCopy };
constexpr int kKindShift = 13;
constexpr std::uint32_t kJobEpochMask = (std::uint32_t{1} << (kKindShift + 16)) - 1;

std::uint32_t job_epoch_of(EventPayload payload) {
  const std::uint32_t high = payload.kind & ((1U << kKindShift) - 1);
  return (high << 16) | payload.epoch;
}

}  // namespace

Fabric::Fabric(EventQueue& queue) : queue_(queue), shares_(queue, *this) {}

// ---- layout
// -------------------------------------------------------------------------------------

StationId Fabric::add_station(StationSpec spec) {
  KV_ASSERT(spec.model != nullptr && spec.slots > 0, "a station of {} slots", spec.slots);
  KV_ASSERT(spec.link == kNoLink || spec.observer != nullptr, "nobody observes link {}", spec.link);
  Station station;
  station.model = std::move(spec.model);
  station.slots = spec.slots;
  station.link = spec.link;
  station.observer = spec.observer;
  stations_.push_back(std::move(station));
  return StationId{static_cast<Id>(stations_.size() - 1)};
}

void Fabric::pair(StationId a, double factor_a, StationId b, double factor_b) {
  const auto set_up = [&](StationId which, double factor, StationId other) {
    Station& station = stations_[static_cast<Id>(which)];
    KV_ASSERT(factor > 0 && factor <= 1, "duplex factor {}", factor);
    KV_ASSERT(station.opposite == kNone && which != other, "a station paired twice");
    station.opposite = static_cast<Id>(other);
    station.slowed =
        static_cast<std::int64_t>(std::floor(factor * static_cast<double>(kFullSpeed)));
    KV_ASSERT(station.slowed > 0, "duplex factor {}", factor);
  };
  set_up(a, factor_a, b);
  set_up(b, factor_b, a);
}

MediumId Fabric::add_medium(std::int64_t bytes_per_second, std::uint32_t link, Observer* observer) {
  KV_ASSERT(link == kNoLink || observer != nullptr, "nobody observes link {}", link);
  medium_links_.push_back({link, observer});
  return shares_.add_medium(bytes_per_second);
}

MediumId Fabric::add_medium(std::span<const std::int64_t> bytes_per_second_by_flows) {
  medium_links_.push_back({});
  return shares_.add_medium(bytes_per_second_by_flows);
}

RouteId Fabric::add_route(std::span<const Hop> hops) {
  KV_ASSERT(!hops.empty() && !hops.back().pipelined, "a route ends in a hop that hands on");
  Route route{static_cast<Id>(hops_.size()), static_cast<Id>(hops.size())};
  for (const Hop& hop : hops) {
    HopData data;
    data.station = static_cast<Id>(hop.station);
    KV_ASSERT(data.station < stations_.size() && hop.priority < 2, "a hop to nowhere");
    data.first_medium = static_cast<Id>(hop_media_.size());
    data.media = static_cast<Id>(hop.media.size());
    data.priority = hop.priority;
    data.pipelined = hop.pipelined;
    hop_media_.insert(hop_media_.end(), hop.media.begin(), hop.media.end());
    if (!hop.media.empty()) data.group = static_cast<Id>(shares_.group_of(hop.media));
    const Station& station = stations_[data.station];
    KV_ASSERT(
        !hop.pipelined || (station.slots == 1 && station.opposite == kNone && hop.media.empty()),
        "a pipelined hop at a station that is shared");
    hops_.push_back(data);
  }
  routes_.push_back(route);
  return RouteId{static_cast<Id>(routes_.size() - 1)};
}

// ---- jobs
// ---------------------------------------------------------------------------------------

void Fabric::submit(RouteId route, std::uint32_t job, Bytes payload, std::uint32_t copies,
                    RouteListener& listener) {
  KV_ASSERT(payload.count() > 0 && copies > 0, "a job of {} bytes in {} copies", payload.count(),
            copies);
  open();
  const Id id = jobs_.take();
  Job& j = jobs_[id];
  j.listener = &listener;
  j.number = job;
  j.copies = copies;
  j.payload = payload;
  j.route = static_cast<Id>(route);
  j.hop = routes_[j.route].first_hop;
  j.handed_over = Time::min();
  ++in_flight_;
  enter(id);
  close();
}

/// The job reaches the station of its hop.
void Fabric::enter(Id job) {
  Job& j = jobs_[job];
  const HopData& hop = hops_[j.hop];
  Station& station = stations_[hop.station];
  j.submitted = queue_.now();
  if (station.serving < station.slots) return begin(job);
  j.next = kNone;
  Queue& queue = station.waiting[hop.priority];
  (queue.tail == kNone ? queue.head : jobs_[queue.tail].next) = job;
  queue.tail = job;
}

void Fabric::begin(Id job) {
  Job& j = jobs_[job];
  const HopData& hop = hops_[j.hop];
  Station& station = stations_[hop.station];
  if (station.serving++ == 0) station.busy_since = queue_.now();
  j.started = queue_.now();
  j.service = station.model->service(j.payload, j.copies);
  KV_ASSERT(j.service.latency.count() >= 0 && j.service.alone.count() >= 0,
            "a service of negative length");
  j.listener->on_route_service(RouteId{j.route}, j.number, true);
  if (hop.pipelined) return begin_pipelined(job);
  j.not_before = Time::min();
  if (j.handed_over != Time::min()) {
    j.not_before = j.handed_over + Duration(ceil_div(j.service.alone.count(), j.copies));
    j.handed_over = Time::min();
  }
  const Time flows_from = j.started + j.service.latency;
  if (station.opposite == kNone && hop.group == kNone) {
    j.flows_from = flows_from;
    return schedule(job, std::max(flows_from + j.service.alone, j.not_before), kLastCopy);
  }
  if (j.service.latency > Duration(0)) return schedule(job, flows_from, kLatencyOver);
  start_flow(job);
}

/// The whole service is known; the next hop may have the first copy before the others.
void Fabric::begin_pipelined(Id job) {
  Job& j = jobs_[job];
  const Id id = hops_[j.hop].station;
  Station& station = stations_[id];
  const Duration total = j.service.latency + j.service.alone;
  const Time over = j.started + total;
  station.record = {station.link, j.payload, j.copies,       j.submitted,
                    j.started,    over,      j.service.reach};
  station.submitting = job;
  j.handed_over = over;
  if (j.copies > 1) {
    schedule(job, j.started + Duration(ceil_div(total.count(), j.copies)), kFirstCopy);
  }
  queue_.schedule(over, Phase::kTransferDone, *this,
                  {static_cast<std::uint16_t>(kSubmitted << kKindShift), 0, id});
}

void Fabric::end_submission(Id station) {
  const Id job = stations_[station].submitting;
  stations_[station].submitting = kNone;
  const TransferRecord record = stations_[station].record;
  release(station);
  if (record.link != kNoLink) stations_[station].observer->on_transfer(record);
  if (job != kNone) go_on(job);
}

// ---- flows
// --------------------------------------------------------------------------------------

std::int64_t Fabric::speed_at(const Station& station) const {
  if (station.opposite == kNone || stations_[station.opposite].flows.empty()) return kFullSpeed;
  return station.slowed;
}

FairShare::Rate Fabric::rate_of(Station& station, const Job& job, std::int64_t speed) {
  if (station.rate_payload != job.payload || station.rate_alone != job.service.alone ||
      station.rate_speed != speed) {
    station.rate_payload = job.payload;
    station.rate_alone = job.service.alone;
    station.rate_speed = speed;
    station.rate = FairShare::rate_of(job.payload, job.service.alone, speed, kFullSpeed);
  }
  return station.rate;
}

void Fabric::start_flow(Id job) {
  Job& j = jobs_[job];
  const HopData& hop = hops_[j.hop];
  Station& station = stations_[hop.station];
  j.flows_from = queue_.now();
  j.since = queue_.now();
  j.speed = speed_at(station);
  if (hop.group != kNone) {
    const FairShare::Rate maximum = rate_of(station, j, j.speed);
    const FairShare::Rate own = j.speed == kFullSpeed ? maximum : rate_of(station, j, kFullSpeed);
    shares_.start(FairShare::GroupId{hop.group}, job, {j.payload, j.service.alone, own, maximum});
  } else {
    if (j.service.alone.count() >= kMostWork) {
      throw ClockOverflow(fmt::format("has a transfer of {} bytes that takes more than 19 hours",
                                      j.payload.count()));
    }
    j.left = j.service.alone.count() * kFullSpeed;
    schedule_end(job);
  }
  if (station.opposite == kNone) return;
  j.place = static_cast<Id>(station.flows.size());
  station.flows.push_back(job);
  if (station.flows.size() == 1) retime(station.opposite);
}

/// The opposite station began or ceased to move bytes: what is left takes longer or shorter.
void Fabric::retime(Id id) {
  Station& station = stations_[id];
  const std::int64_t speed = speed_at(station);
  for (const Id job : station.flows) {
    Job& j = jobs_[job];
    if (j.speed == speed) continue;
    if (hops_[j.hop].group != kNone) {
      j.speed = speed;
      shares_.set_maximum(job, rate_of(station, j, speed));
      continue;
    }
    j.left -= (queue_.now() - j.since).count() * j.speed;
    j.since = queue_.now();
    j.speed = speed;
    schedule_end(job);
  }
}

void Fabric::schedule_end(Id job) {
  const Job& j = jobs_[job];
  const Duration rest(ceil_div(std::max<std::int64_t>(j.left, 0), j.speed));
  schedule(job, queue_.now() + rest, kServed);
}

void Fabric::schedule(Id job, Time at, std::uint16_t kind) {
  const std::uint32_t epoch = ++jobs_[job].epoch & kJobEpochMask;
  queue_.schedule(at, Phase::kTransferDone, *this,
                  {static_cast<std::uint16_t>((std::uint32_t{kind} << kKindShift) | (epoch >> 16)),
                   static_cast<std::uint16_t>(epoch), job});
}

// ---- ends
// ---------------------------------------------------------------------------------------

void Fabric::on_event(EventPayload payload) {
  const auto kind = static_cast<std::uint16_t>(payload.kind >> kKindShift);
  const Id subject = payload.subject;
  if (kind != kSubmitted && job_epoch_of(payload) != (jobs_[subject].epoch & kJobEpochMask)) return;
  open();
  switch (kind) {
    case kServed:
      end_flow(subject);
      break;
    case kLatencyOver:
      start_flow(subject);
      break;
    case kFirstCopy:
      stations_[hops_[jobs_[subject].hop].station].submitting = kNone;
      go_on(subject);
      break;
    case kSubmitted:
      end_submission(subject);
      break;
    case kLastCopy:
      end_hop(subject);
      break;
    default:
      KV_ASSERT(false, "an event of kind {}", kind);
  }
  close();
}

void Fabric::on_flows_done(std::span<const std::uint32_t> flows) {
  open();
  for (const Id job : flows) end_flow(job);
  close();
}

/// All bytes have moved; the last copy may still have to be handed over.
void Fabric::end_flow(Id job) {
  Job& j = jobs_[job];
  Station& station = stations_[hops_[j.hop].station];
  if (station.opposite != kNone) {
    const Id last = station.flows.back();
    station.flows[j.place] = last;
    jobs_[last].place = j.place;
    station.flows.pop_back();
  }
  ++j.epoch;
  if (j.not_before <= queue_.now()) return end_hop(job);
  schedule(job, j.not_before, kLastCopy);
  if (station.opposite != kNone && station.flows.empty()) retime(station.opposite);
}

void Fabric::end_hop(Id job) {
  {
    const Job& j = jobs_[job];
    const Id station = hops_[j.hop].station;
    const Id opposite = stations_[station].opposite;
    KV_ASSERT(queue_.now() - j.started >= j.service.latency + j.service.alone,
              "a transfer ended before its own time");
    release(station);
    if (opposite != kNone && stations_[station].flows.empty()) retime(opposite);
    tell(j);
  }
  go_on(job);
}

/// A place at the station is free: the next job, if any, takes it at once.
void Fabric::release(Id id) {
  Station& station = stations_[id];
  if (--station.serving == 0) station.busy += queue_.now() - station.busy_since;
  for (Queue& queue : station.waiting) {
    if (queue.head == kNone) continue;
    const Id job = queue.head;
    queue.head = jobs_[job].next;
    if (queue.head == kNone) queue.tail = kNone;
    return begin(job);
  }
}

void Fabric::tell(const Job& j) {
  const HopData& hop = hops_[j.hop];
  const Station& station = stations_[hop.station];
  TransferRecord record{station.link, j.payload,    j.copies,       j.submitted,
                        j.started,    queue_.now(), j.service.reach};
  if (record.link != kNoLink) station.observer->on_transfer(record);
  record.started = j.flows_from;
  record.reach = Reach::kInside;  // a medium has no model of its own
  for (Id i = 0; i < hop.media; ++i) {
    const MediumLink& medium = medium_links_[static_cast<Id>(hop_media_[hop.first_medium + i])];
    record.link = medium.link;
    if (record.link != kNoLink) medium.observer->on_transfer(record);
  }
}

/// To the next hop, or out of the fabric.
void Fabric::go_on(Id job) {
  Job& j = jobs_[job];
  const Route& route = routes_[j.route];
  j.listener->on_route_service(RouteId{j.route}, j.number, false);
  if (++j.hop < route.first_hop + route.hops) return enter(job);
  RouteListener& listener = *j.listener;
  const RouteId id{j.route};
  const std::uint32_t number = j.number;
  jobs_.release(job);
  --in_flight_;
  listener.on_route_done(id, number);
}

Duration Fabric::busy(StationId id) const {
  const Station& station = stations_[static_cast<Id>(id)];
  return station.serving == 0 ? station.busy : station.busy + (queue_.now() - station.busy_since);
}

}  // namespace spillway
