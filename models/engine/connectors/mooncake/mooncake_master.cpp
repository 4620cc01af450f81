#include "models/engine/connectors/mooncake/mooncake_master.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

// ---- the clock

void MooncakeClock::arm(Time at) {
  if (at == Time::max() || (armed_ && at >= at_)) return;
  armed_ = true;
  at_ = at;
  queue_.schedule(at, order_.phase, order_.ticks, *this, {kTick, 0, ++epoch_});
}

void MooncakeClock::queue_turn(RequestId request, StoreClient& client, Handle h) {
  const bool first = turns_.empty();
  turns_.push_back({request, &client, h});
  const auto later = [](const Turn& a, const Turn& b) { return a.request > b.request; };
  std::push_heap(turns_.begin(), turns_.end(), later);
  if (first) {
    queue_.schedule(queue_.now(), Phase::kStepStart, EventQueue::kLastRank, *this, {kTurn, 0, 0});
  }
}

void MooncakeClock::on_event(EventPayload payload) {
  if (payload.kind == kTurn) return next_turn();
  if (payload.subject != epoch_) return;  // an earlier one was found since
  armed_ = false;
  tick();
}

void MooncakeClock::tick() {
  for (MooncakeMaster* master : masters_) master->tick(unfinished_ > 0);
  if (queue_.empty()) return;  // nothing that is left asks for anything
  for (MooncakeMaster* master : masters_) arm(master->next());
}

/// One at a time: what ends with it may let another request arrive at this instant.
void MooncakeClock::next_turn() {
  const auto later = [](const Turn& a, const Turn& b) { return a.request > b.request; };
  std::pop_heap(turns_.begin(), turns_.end(), later);
  const Turn turn = turns_.back();
  turns_.pop_back();
  if (!turns_.empty()) {
    queue_.schedule(queue_.now(), Phase::kStepStart, EventQueue::kLastRank, *this, {kTurn, 0, 0});
  }
  turn.client->take_turn(turn.handle);
}

// ---- the master

MooncakeMaster::MooncakeMaster(const MooncakeConfig& config, const MooncakeStore::Size& size,
                               const Place& place, const PortConfig* ssd)
    : queue_(place.queue),
      observer_(place.observer),
      clock_(place.clock),
      tier_(place.tier),
      store_(config, size) {
  clock_.join(*this);
  if (!config.offload || ssd == nullptr) return;
  PortListener& self = *this;  // a private base, which make_unique does not see
  port_ =
      std::make_unique<TierPort>(place.network, *ssd, place.settlement, queue_, observer_, self);
  heartbeat_ = queue_.now();
  clock_.arm(heartbeat_);
}

void MooncakeMaster::changed(bool before_clock) {
  look(before_clock);
  clock_.arm(next());
}

/// Whether there has to be a check, and what observers do not know yet.
void MooncakeMaster::look(bool before_clock) {
  if (check_ == Time::max() && store_.wants_check()) {
    const std::int64_t every = store_.config().check.count();
    const std::int64_t past = nanoseconds_of(queue_.now()) - (before_clock ? 1 : 0);
    check_ = time_at((past / every + 1) * every);
  }
  tell(0, store_.replicas());
  if (port_ != nullptr) tell(1, store_.on_ssd());
}

/// Tiers tell of blocks that come and go; what was counted is told at the end of the run.
void MooncakeMaster::tell(std::uint32_t place, std::uint32_t held) {
  std::uint32_t& told = told_[place];
  if (told == held) return;
  observer_.on_tier_change({queue_.now(), tier_ + place, held > told ? held - told : 0,
                            held < told ? told - held : 0, held, held});
  told = held;
}

Time MooncakeMaster::next() {
  const Time expiry = store_.next_expiry();
  return clock_.serving() ? std::min({expiry, heartbeat_, check_}) : expiry;
}

void MooncakeMaster::tick(bool serving) {
  const Time now = queue_.now();
  store_.free_abandoned(now);
  store_.expire_pins(now);
  if (write_ended_) end_write();
  if (heartbeat_ <= now && serving) beat();
  if (check_ <= now && serving) {
    check_ = Time::max();
    store_.check(now);
  }
  look(false);
}

void MooncakeMaster::beat() {
  heartbeat_ = Time::max();
  const auto full = store_.heartbeat();
  writing_.assign(full.begin(), full.end());
  written_ = 0;
  start_write();
}

void MooncakeMaster::end_write() {
  write_ended_ = false;
  const std::size_t i = written_++;
  store_.written(writing_[i], written_ == writing_.size());
  start_write();
}

/// The next bucket, or after the last one the pause before a heartbeat.
void MooncakeMaster::start_write() {
  if (written_ == writing_.size()) {
    heartbeat_ = queue_.now() + store_.config().heartbeat;
  } else {
    port_->submit(StorageOp::kWrite, 0, writing_[written_].bytes);
  }
}

void MooncakeMaster::report(std::span<ChunkTierStats> tiers) const {
  const MooncakeCounters& c = store_.counters();
  ChunkTierStats& memory = tiers[0];
  memory.ticks = c.checks;
  memory.idle_ticks = c.idle_checks;
  memory.stored = c.stored;
  memory.evicted = c.evicted;
  memory.held = store_.replicas();
  memory.peak_bytes = c.peak_bytes;
  if (tiers.size() < 2) return;
  ChunkTierStats& ssd = tiers[1];
  ssd.stored = c.ssd_stored;
  ssd.evicted = c.ssd_evicted;
  ssd.refused = c.ssd_refused();
  ssd.held = store_.on_ssd();
  ssd.peak_bytes = c.ssd_peak_bytes;
}

void MooncakeMaster::on_port_done(StorageOp, std::uint32_t) {
  write_ended_ = true;
  clock_.arm(queue_.now());
}

}  // namespace spillway
