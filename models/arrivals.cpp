#include "models/arrivals.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

Arrivals::Arrivals(EventQueue& queue, const Workload& workload, const ArrivalConfig& config,
                   RequestSink& sink)
    : queue_(queue),
      workload_(workload),
      config_(config),
      sink_(sink),
      gaps_(config.seed, "arrival-gaps"),
      cut_from_(workload.size()),
      fates_(workload.size(), Fate::kUnsent) {
  KV_ASSERT(!closed() || config.concurrency > 0, "a closed loop without clients");
  if (config.wait) link_successors();
  wakes_.reserve(1 + turns_.capacity());
}

/// Turns `after` around, and makes room for everything the run will note.
void Arrivals::link_successors() {
  const std::uint32_t size = workload_.size();
  awaited_.resize(size);
  successors_begin_.assign(std::size_t{size} + 1, 0);
  std::uint32_t turns = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto after = workload_.after(RequestId{i});
    awaited_[i] = static_cast<std::uint32_t>(after.size());
    turns += after.empty() ? 0 : 1;
    for (const RequestId before : after) {
      KV_ASSERT(raw(before) < i, "request {} waits for a later one", i);
      ++successors_begin_[raw(before) + 1];
    }
  }
  for (std::uint32_t i = 0; i < size; ++i) successors_begin_[i + 1] += successors_begin_[i];
  successors_.resize(successors_begin_.back());
  std::vector<std::uint32_t> place(successors_begin_.begin(), successors_begin_.end() - 1);
  for (std::uint32_t i = 0; i < size; ++i) {
    for (const RequestId before : workload_.after(RequestId{i})) {
      successors_[place[raw(before)]++] = RequestId{i};
    }
  }
  turns_.reserve(turns);
  if (config_.kind != ArrivalConfig::Kind::kTrace) shift_.assign(size, Duration::min());
}

void Arrivals::start() {
  next_start();
  wake_for_next();
}

// ---- when a request is due
// -----------------------------------------------------------------------

Time Arrivals::recorded(RequestId request) const {
  return time_at(floor_divided(nanoseconds_of(workload_.arrival(request)), config_.speed));
}

Time Arrivals::start_time(RequestId request) {
  switch (config_.kind) {
    case ArrivalConfig::Kind::kTrace:
      return recorded(request);
    case ArrivalConfig::Kind::kPoisson: {
      const double gap_s = gaps_.exponential(1 / config_.rate_per_s);
      poisson_clock_ +=
          Duration(floor_divided(static_cast<std::int64_t>(gap_s * 1e9), config_.speed));
      return poisson_clock_;
    }
    case ArrivalConfig::Kind::kClosedLoop:
      break;
  }
  return queue_.now();  // whoever asks has found a free client
}

/// Finds the next request that waits for nobody; in a closed loop it is due whenever a client is.
void Arrivals::next_start() {
  while (scanned_ < workload_.size() && waits(RequestId{scanned_})) ++scanned_;
  start_.at = kNoMore;
  if (scanned_ >= cut_from_) return;
  start_ = {start_time(RequestId{scanned_}), RequestId{scanned_}};
  if (start_.at > config_.horizon) {
    start_.at = kNoMore;
    cut_from_ = scanned_;
  }
  ++scanned_;
}

/// Its last answer has come just now.
Time Arrivals::turn_due(RequestId request) const {
  const std::int64_t think = workload_.think_ns(request);
  if (think >= 0) {
    const bool fits = think < (kNoMore - queue_.now()).count();
    return fits ? queue_.now() + Duration(think) : kNoMore;
  }
  const Duration shift = shift_.empty() ? Duration(0) : shift_[raw(request)];
  return std::max(queue_.now(), recorded(request) + shift);
}

/// Counts the answer off wherever it is waited for.
void Arrivals::answer(RequestId request) {
  for (std::uint32_t i = successors_begin_[raw(request)]; i < successors_begin_[raw(request) + 1];
       ++i) {
    const RequestId turn = successors_[i];
    if (!shift_.empty()) {
      shift_[raw(turn)] = std::max(shift_[raw(turn)], shift_[raw(request)]);
    }
    if (--awaited_[raw(turn)] > 0) continue;
    const Time due = turn_due(turn);
    if (due > config_.horizon) {
      fates_[raw(turn)] = Fate::kCut;
      continue;
    }
    turns_.push_back({due, turn});
    std::push_heap(turns_.begin(), turns_.end(), later);
  }
}

// ---- sending
// -------------------------------------------------------------------------------------

/// The next request that is due by now, if any.
bool Arrivals::take_due(Due& out) {
  const Time now = queue_.now();
  const bool turn = !turns_.empty() && turns_.front().at <= now;
  if (turn && (closed() || later(start_, turns_.front()))) {
    std::pop_heap(turns_.begin(), turns_.end(), later);
    out = turns_.back();
    turns_.pop_back();
    return true;
  }
  if (start_.at == kNoMore || start_.at > now) return false;
  out = start_;
  if (closed()) out.at = now;
  if (out.at > config_.horizon) return false;
  next_start();
  return true;
}

void Arrivals::send(const Due& due) {
  ++submitted_;
  ++in_flight_;
  fates_[raw(due.request)] = Fate::kSent;
  if (!shift_.empty() && workload_.after(due.request).empty()) {
    shift_[raw(due.request)] = due.at - recorded(due.request);
  }
  sink_.submit(due.request, due.at);
}

/// A request may end while it is being submitted, and its successor be due at once.
void Arrivals::send_due() {
  sending_ = true;
  Due due;
  while (client_free() && take_due(due)) send(due);
  sending_ = false;
  wake_for_next();
}

/// Makes sure that an event comes when the next request can go out. Where no client is free, the
/// end of a request sees to it.
void Arrivals::wake_for_next() {
  if (!client_free()) return;
  Time at = start_.at;
  if (closed() && at != kNoMore && queue_.now() > config_.horizon) at = kNoMore;
  if (!turns_.empty()) at = std::min(at, turns_.front().at);
  if (at == kNoMore) return;
  at = std::max(at, queue_.now());
  if (!wakes_.empty() && wakes_.back() <= at) return;
  wakes_.push_back(at);
  queue_.schedule(at, Phase::kArrival, *this, {static_cast<std::uint16_t>(Kind::kWake), 0, 0});
}

void Arrivals::on_event(EventPayload payload) {
  if (static_cast<Kind>(payload.kind) == Kind::kClientFree) return free_client();
  KV_ASSERT(wakes_.back() == queue_.now(), "arrivals woken at another time than asked for");
  wakes_.pop_back();
  send_due();
}

void Arrivals::on_request_end(RequestId request) {
  const bool later = config_.concurrency > 0 && config_.turnaround > Duration(0);
  if (!later) --in_flight_;
  if (config_.wait) answer(request);
  if (later) {
    queue_.schedule(queue_.now() + config_.turnaround, Phase::kArrival, *this,
                    {static_cast<std::uint16_t>(Kind::kClientFree), 0, 0});
  }
  if (!sending_) wake_for_next();
}

void Arrivals::free_client() {
  --in_flight_;
  wake_for_next();
}

const std::vector<Arrivals::Fate>& Arrivals::fates() {
  // Held back by clients that wait for ever: which of these would the horizon have cut?
  if (!closed()) {
    while (start_.at != kNoMore) next_start();
  } else if (start_.at != kNoMore && queue_.now() > config_.horizon) {
    cut_from_ = raw(start_.request);
  }
  for (std::uint32_t i = 0; i < workload_.size(); ++i) {
    const RequestId request{i};
    Fate& fate = fates_[i];
    if (fate == Fate::kSent) continue;
    if (!waits(request)) {
      fate = i >= cut_from_ ? Fate::kCut : Fate::kUnsent;
      continue;
    }
    for (const RequestId before : workload_.after(request)) {
      if (fates_[raw(before)] == Fate::kCut) fate = Fate::kCut;
    }
  }
  return fates_;
}

}  // namespace spillway
