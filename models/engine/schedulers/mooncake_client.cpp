#include "models/engine/schedulers/mooncake_client.hpp"

#include <algorithm>

#include "models/chains/chain_map.hpp"
#include "sim/error.hpp"
#include "sim/workload.hpp"

namespace spillway {

std::uint64_t MooncakeClient::blocks_of(const ActiveRequest& r) const {
  const std::uint64_t tokens = std::uint64_t{r.prompt} + r.output;
  return (tokens + env_.block_tokens - 1) / env_.block_tokens;
}

void MooncakeClient::enqueue(Handle h) {
  const ActiveRequest& r = env_.requests[h];
  const StoreHints hints = env_.workload.hints(r.id);
  Visit& v = visits_[h];
  v.next = Next::kAsk;
  v.full = r.prompt / env_.block_tokens;
  v.polls = hints.polls;
  v.poll_interval = hints.poll_interval;
  v.found.clear();
  v.puts.clear();
  v.cached = v.jobs = 0;
  v.memory_late = v.ssd_late = false;
  ++running_;
  env_.clock.queue_turn(r.id, *this, h);
}

/// Requests that are done end now.
void MooncakeClient::schedule(Time, StepPlan& plan) {
  plan.clear();
  plan.completed.swap(done_);
  done_.clear();
}

bool MooncakeClient::finish(Handle, Time) {
  --running_;
  return true;
}

void MooncakeClient::take_turn(Handle h) {
  Visit& v = visits_[h];
  if (v.next == Next::kPut) {
    put(h, v);
  } else if (v.polls > 0) {
    --v.polls;
    ask(h, v);
    later(h, kTurn, v.poll_interval);
  } else {
    get(h, v);
  }
  env_.master.changed();
}

void MooncakeClient::later(Handle h, std::uint16_t kind, Duration after) {
  env_.queue.schedule(env_.queue.now() + after, Phase::kArrival, *this,
                      {kind, 0, static_cast<std::uint32_t>(h)});
}

void MooncakeClient::on_event(EventPayload payload) {
  const Handle h{payload.subject};
  if (payload.kind == kStepEnd) end_step(h);
  env_.clock.queue_turn(env_.requests[h].id, *this, h);
}

// ---- exist and get

/// Asks for its blocks up to the first that is nowhere; those before it are found.
std::uint32_t MooncakeClient::ask(Handle h, Visit& v) {
  v.found.clear();
  const Time now = env_.queue.now();
  MooncakeStore& store = env_.master.store();
  env_.chains.for_runs(env_.requests[h].id, 0, v.full,
                       [&](std::uint32_t first, std::uint32_t count) {
                         for (std::uint32_t i = 0; i < count; ++i) {
                           const Source source = store.find(BlockId{first + i}, now);
                           if (source == Source::kNowhere) return false;
                           v.found.push_back(source);
                         }
                         return true;
                       });
  return static_cast<std::uint32_t>(v.found.size());
}

void MooncakeClient::get(Handle h, Visit& v) {
  const std::uint32_t found = ask(h, v);  // to exist and to get renew at the same instant
  v.got = env_.queue.now();
  const auto in_memory =
      static_cast<std::uint32_t>(std::count(v.found.begin(), v.found.end(), Source::kMemory));
  ActiveRequest& r = env_.requests[h];
  const auto submit = [&](Source source, std::uint32_t blocks) {
    if (blocks == 0) return;
    ++v.jobs;
    r.clock.on_load(LoadEvent::kSubmitted, v.got);
    const std::uint32_t job = make_job(h, source);
    const Bytes bytes = env_.block_bytes * std::int64_t{blocks};
    if (source == Source::kMemory) {
      memory_->submit(Direction::kUp, job, bytes, blocks);
    } else {
      ssd_->submit(StorageOp::kRead, job, bytes);
    }
  };
  submit(Source::kMemory, in_memory);
  submit(Source::kSsd, found - in_memory);
  if (v.jobs == 0) begin_step(h);
}

std::uint32_t MooncakeClient::make_job(Handle h, Source source) {
  const std::uint32_t job = jobs_.take();
  jobs_[job] = {h, source, env_.settlement.next_number()};
  return job;
}

void MooncakeClient::on_load_service(std::uint32_t job, bool begins) {
  env_.requests[jobs_[job].request].clock.on_load(begins ? LoadEvent::kServed : LoadEvent::kPaused,
                                                  env_.queue.now());
}

void MooncakeClient::on_transfer_done(Direction, std::uint32_t job) {
  env_.settlement.add(jobs_[job].order, *this, job);
}

void MooncakeClient::on_port_done(StorageOp, std::uint32_t job) {
  settle(job);
}

void MooncakeClient::settle(std::uint32_t job) {
  const Handle h = jobs_[job].request;
  const Source source = jobs_[job].source;
  jobs_.release(job);
  if (source != Source::kNowhere) return end_get(h, source);
  Visit& v = visits_[h];
  for (const MooncakeStore::Put& put : v.puts) env_.master.store().put_end(put, env_.queue.now());
  env_.master.changed();
  done(h);
}

void MooncakeClient::end_get(Handle h, Source source) {
  Visit& v = visits_[h];
  const Time now = env_.queue.now();
  env_.requests[h].clock.on_load(LoadEvent::kEnded, now);
  const bool late = now >= v.got + env_.master.store().config().lease;
  (source == Source::kMemory ? v.memory_late : v.ssd_late) = late;
  if (--v.jobs == 0) begin_step(h);
}

// ---- the step

void MooncakeClient::begin_step(Handle h) {
  Visit& v = visits_[h];
  ActiveRequest& r = env_.requests[h];
  const Time now = env_.queue.now();
  const auto came = [&](Source source) {
    return !(source == Source::kMemory ? v.memory_late : v.ssd_late);
  };
  const auto failed = std::find_if_not(v.found.begin(), v.found.end(), came);
  v.cached = static_cast<std::uint32_t>(failed - v.found.begin());
  for (std::uint32_t i = 0; i < v.found.size(); ++i) {
    const std::size_t tier = v.found[i] == Source::kMemory ? 0 : 1;
    if (i < v.cached) {
      r.cached_tokens[1 + tier] += env_.block_tokens;
      ++counts_[tier].hits;
    } else {
      ++counts_[tier].lost;
    }
  }
  counts_[0].queries += v.full;
  counts_[1].queries += v.full - r.cached_tokens[1] / env_.block_tokens;

  const std::uint32_t cached = v.cached * env_.block_tokens;
  const std::uint32_t tokens = std::max(1U, r.prompt - cached);
  step_.clear();
  step_.items.push_back({h, tokens, r.prompt - tokens, true});
  r.scheduled = now;
  r.clock.begin_step(now, false);
  later(h, kStepEnd, env_.cost.of(step_));
}

void MooncakeClient::end_step(Handle h) {
  ActiveRequest& r = env_.requests[h];
  const Time now = env_.queue.now();
  r.clock.end_step(now);
  r.clock.stop(now);
  r.first_token = r.last_token = now;
  r.computed = r.prompt;
  r.generated = r.output;
  visits_[h].next = Next::kPut;
}

// ---- put

void MooncakeClient::put(Handle h, Visit& v) {
  const RequestId id = env_.requests[h].id;
  const StoreHints hints = env_.workload.hints(id);
  const Time now = env_.queue.now();
  MooncakeStore& store = env_.master.store();
  const std::uint64_t failures = store.counters().put_failures;
  std::uint32_t replicas = 0;
  env_.chains.for_runs(id, v.cached, v.full, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto put = store.put_start(BlockId{first + i}, env_.block_bytes, hints, now);
      if (!put) continue;
      v.puts.push_back(*put);
      replicas += put->replicas;
    }
    return true;
  });
  counts_[0].refused += store.counters().put_failures - failures;
  if (v.puts.empty()) return done(h);
  memory_->submit(Direction::kDown, make_job(h, Source::kNowhere),
                  env_.block_bytes * std::int64_t{replicas}, replicas);
}

void MooncakeClient::done(Handle h) {
  done_.push_back(h);
  env_.clock.on_request_end();
  env_.waiter.on_transfer_progress();
}

// ---- results

void MooncakeClient::report(EngineStats& stats) const {
  stats.chunk_tiers = {counts_[0], counts_[1]};
  if (ssd_ == nullptr) stats.chunk_tiers.pop_back();
  if (env_.tells_of_store) env_.master.report(stats.chunk_tiers);
}

void MooncakeClient::check_drained() const {
  KV_ASSERT(running_ == 0 && jobs_.none_in_use(), "{} requests of the store never ended", running_);
  if (env_.tells_of_store) env_.master.store().check_consistent();
}

}  // namespace spillway
