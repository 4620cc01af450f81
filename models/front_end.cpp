#include "models/front_end.hpp"

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr auto kFrontEndStage = static_cast<std::size_t>(TtftStage::kFrontEnd);

}  // namespace

FrontEnd::FrontEnd(EventQueue& queue, const Workload& workload, const FrontEndConfig& config,
                   Time measure_from, Observer& observer, StageWatch* stages)
    : queue_(queue),
      workload_(workload),
      config_(config),
      measure_from_(measure_from),
      observer_(observer),
      stage_watch_(stages),
      processes_(config.processes),
      passing_(workload.size()) {
  KV_ASSERT(config.processes > 0, "a front end without processes");
}

FrontEndStats FrontEnd::stats() const {
  FrontEndStats out = stats_;
  if (first_arrival_ != kNever && last_chunk_ > first_arrival_) {
    out.span = last_chunk_ - first_arrival_;
  }
  return out;
}

// ---- the way in
// ----------------------------------------------------------------------------------

void FrontEnd::submit(RequestId request, Time due) {
  Passing& p = passing(request);
  p.due = due;
  p.arrival = queue_.now();
  if (first_arrival_ == kNever) first_arrival_ = p.arrival;
  p.process = next_process_;
  next_process_ = (next_process_ + 1) % config_.processes;
  processes_[p.process].requests.push_back(request);
  wake(p.process);
}

/// The loop begins at this instant, once all that happens before has happened.
void FrontEnd::wake(std::uint32_t process) {
  Process& p = processes_[process];
  if (p.busy) return;
  p.busy = true;
  queue_.schedule(queue_.now(), Phase::kArrival, *this,
                  {static_cast<std::uint16_t>(Kind::kLoop), 0, process});
}

void FrontEnd::on_event(EventPayload payload) {
  switch (static_cast<Kind>(payload.kind)) {
    case Kind::kLoop:
      return turn(payload.subject);
    case Kind::kSubmit: {
      const RequestId request{payload.subject};
      return engines_->submit(request, passing(request).due);
    }
    case Kind::kAnswered:
      return answered(RequestId{payload.subject});
  }
}

/// The loop has done what it did, and goes on with what waits.
void FrontEnd::turn(std::uint32_t process) {
  Process& p = processes_[process];
  if (p.handling) hand_on(p);
  Time until = queue_.now();
  const bool chunks = !p.chunks.empty() && (!p.requests_turn || p.requests.empty());
  if (chunks) {
    for (std::uint32_t i = 0; i < kChunksInTurn && !p.chunks.empty(); ++i) {
      const RequestId request = p.chunks.front();
      p.chunks.pop_front();
      until += config_.chunk;
      write(request, until);
    }
  } else if (!p.requests.empty()) {
    p.handled = p.requests.front();
    p.requests.pop_front();
    p.handling = true;
    until += config_.request;
  } else {
    p.busy = false;
    return;
  }
  p.requests_turn = chunks;
  stats_.busy += until - queue_.now();
  queue_.schedule(until, Phase::kArrival, *this,
                  {static_cast<std::uint16_t>(Kind::kLoop), 0, process});
}

/// The loop is done with a request: the tokeniser has it, and then the engine.
void FrontEnd::hand_on(Process& process) {
  process.handling = false;
  const std::int64_t prompt = workload_.input_tokens(process.handled);
  process.tokeniser_free =
      std::max(process.tokeniser_free, queue_.now()) + config_.prompt_token * prompt;
  queue_.schedule(process.tokeniser_free + config_.delay, Phase::kArrival, *this,
                  {static_cast<std::uint16_t>(Kind::kSubmit), 0, raw(process.handled)});
}

// ---- the way out
// ---------------------------------------------------------------------------------

void FrontEnd::on_token(RequestId request) {
  ++stats_.tokens;
  Passing& p = passing(request);
  if (p.chunk_waits) return;
  p.chunk_waits = true;
  processes_[p.process].chunks.push_back(request);
  wake(p.process);
}

/// Its chunk is written at `now`.
void FrontEnd::write(RequestId request, Time now) {
  Passing& p = passing(request);
  p.chunk_waits = false;
  ++stats_.chunks;
  if (p.first_chunk == kNever) {
    p.first_chunk = now;
  } else if (p.arrival >= measure_from_) {
    observer_.on_token_gap(now - p.last_chunk, 1);
  }
  p.last_chunk = now;
  last_chunk_ = std::max(last_chunk_, now);
  if (p.end == kNone) return;
  queue_.schedule(now, Phase::kArrival, *this,
                  {static_cast<std::uint16_t>(Kind::kAnswered), 0, raw(request)});
}

void FrontEnd::on_stages(std::span<const StageMark> stages) {
  told_stages_.assign(stages.begin(), stages.end());
}

RequestRecord FrontEnd::as_clients_see(const RequestRecord& record) const {
  const Passing& p = passing_[raw(record.request)];
  RequestRecord out = record;
  out.arrival = p.arrival;
  out.way_in = record.arrival - p.arrival;
  out.warmup = p.arrival < measure_from_ && record.status != RequestStatus::kStuck;
  return out;
}

/// An answer ends when its last chunk is written; what else ends is told at once.
void FrontEnd::on_request(const RequestRecord& record) {
  const RequestRecord out = as_clients_see(record);
  if (record.status != RequestStatus::kCompleted) return observer_.on_request(out);
  Passing& p = passing(record.request);
  KV_ASSERT(p.chunk_waits, "request {} ended without a token", raw(record.request));
  p.end = ends_.take();
  ends_[p.end].record = out;
  ends_[p.end].stages = told_stages_;
}

void FrontEnd::on_request_end(RequestId request) {
  if (passing(request).end == kNone) clients_->on_request_end(request);
}

/// The client has all of it.
void FrontEnd::answered(RequestId request) {
  Passing& p = passing(request);
  End& end = ends_[p.end];
  if (stage_watch_ != nullptr) add_marks(end);
  RequestRecord& record = end.record;
  record.ttft[kFrontEndStage] = record.way_in + (p.first_chunk - record.first_token);
  record.first_token = p.first_chunk;
  record.finish = p.last_chunk;
  if (stage_watch_ != nullptr) stage_watch_->on_stages(end.stages);
  observer_.on_request(record);
  ends_.release(p.end);
  clients_->on_request_end(request);
}

/// Before the engine's stages and behind them.
void FrontEnd::add_marks(End& end) const {
  const RequestRecord& r = end.record;
  if (r.way_in > Duration(0)) {
    end.stages.insert(end.stages.begin(), {TtftStage::kFrontEnd, r.arrival});
  }
  if (passing_[raw(r.request)].first_chunk > r.first_token) {
    end.stages.push_back({TtftStage::kFrontEnd, r.first_token});
  }
}

}  // namespace spillway
