#include "models/engine/engine.hpp"

#include <algorithm>
#include <numeric>

#include "sim/error.hpp"

namespace spillway {

namespace {

// More empty steps at one instant than any rule of the specification can cause: a defect of ours.
constexpr std::uint32_t kMaxEmptySteps = 100'000;

// Steps that only compute again what preemptions took: beyond any such stretch that ends.
constexpr std::uint32_t kMostRepeating = 100'000;

}  // namespace

// ---- arrivals and wake-ups
// -----------------------------------------------------------------------

void Engine::submit(RequestId request, Time due) {
  const Handle h = requests_.make();
  ActiveRequest& r = requests_[h];
  r.id = request;
  r.prompt = workload_.input_tokens(request);
  r.output = workload_.output_tokens(request);
  r.due = due;
  r.arrival = queue_.now();
  r.clock.start(r.arrival, marks_of(h));
  r.store_limit = config_.max_offload_tokens;
  if (!classes_.empty()) {
    const RequestClass& asks = classes_[workload_.columns().tenant[raw(request)]];
    r.priority = asks.priority;
    r.offload = asks.offload;
    r.store_limit = asks.offload ? asks.store_limit : 0;
  }
  const std::uint64_t length = std::uint64_t{r.prompt} + r.output;
  if (config_.max_model_len > 0 && length > config_.max_model_len) {
    return end_request(h, RequestStatus::kFailed, Reason::kTooLong);
  }
  if (dead_) return end_request(h, RequestStatus::kFailed, Reason::kEngineDead);
  if (!scheduler_->can_hold(r)) {
    return end_request(h, RequestStatus::kRejected, Reason::kExceedsPool);
  }
  if (gate_ != nullptr) {
    const std::uint64_t blocks = scheduler_->blocks_of(r);
    const Reason refusal =
        gate_->ask(r, blocks, scheduler_->running(), scheduler_->waiting(), r.arrival);
    if (refusal != Reason::kNone) return end_request(h, RequestStatus::kRejected, refusal);
    gate_->enter(h, blocks, r.arrival);
    watch_waits();
  }
  scheduler_->enqueue(h);
  wake();
}

std::vector<StageMark>* Engine::marks_of(Handle h) {
  if (stages_ == nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(h);
  if (marks_.size() <= index) marks_.resize(index + 1);
  return &marks_[index];
}

/// Sees to an event at the next deadline of a waiting request. It runs before the schedule of its
/// instant, and before arrivals, which find the places that it frees.
void Engine::watch_waits() {
  if (waits_watched_) return;
  const Time at = gate_->next_deadline();
  if (at == Time::max()) return;
  waits_watched_ = true;
  queue_.schedule(at, Phase::kStepDone, *this,
                  {static_cast<std::uint16_t>(Kind::kWaitedTooLong), 0, 0});
}

void Engine::reject_waiting() {
  waits_watched_ = false;
  Handle h{};
  bool any = false;
  while (gate_->take_expired(queue_.now(), h)) {
    any = true;
    scheduler_->withdraw(h);
    end_request(h, RequestStatus::kRejected, Reason::kQueueTimeout);
  }
  watch_waits();
  if (any) wake();  // whoever stood behind may fit
}

void Engine::wake() {
  if (state_ != State::kAsleep || looping_) return;
  state_ = State::kWoken;
  queue_.schedule(queue_.now(), Phase::kStepStart, *this,
                  {static_cast<std::uint16_t>(Kind::kStepStart), 0, 0});
}

void Engine::on_transfer_progress() {
  if (cold_ != nullptr) return on_cold_progress();
  if (worker_ != nullptr) go_on();
  wake();
}

void Engine::on_load(std::uint32_t job, LoadEvent event) {
  connector_->tell_clocks(job, event, queue_.now());
}

void Engine::on_promotion(Handle h, RequestId request, LoadEvent event) {
  ActiveRequest& r = requests_[h];
  if (r.id == request) r.clock.on_promotion(event, queue_.now());  // else it is gone
}

void Engine::on_event(EventPayload payload) {
  switch (static_cast<Kind>(payload.kind)) {
    case Kind::kStepDone:
      return payload.subject == end_epoch_ ? finish_step() : void();
    case Kind::kWaitedTooLong:
      return reject_waiting();
    case Kind::kStageDone:
      return leave_first_stage();
    case Kind::kStepStart:
      break;
  }
  if (connector_ != nullptr && in_flight_.empty() && connector_->poll(queue_.now())) {
    completion_seen_ = true;
  }
  schedule_steps();
}

// ---- scheduling
// ----------------------------------------------------------------------------------

/// Schedules until as many steps are in flight as may be, or nothing more can run.
void Engine::schedule_steps() {
  if (looping_) {
    state_ = State::kAsleep;
    return;
  }
  state_ = State::kBusy;
  while (in_flight_.size() < depth_ && !looping_) {
    Step& step = schedule_one();
    if (v0_ != nullptr && v0_->fatal()) return die(step);
    const bool empty = !step.plan.has_work();
    const bool changed =
        !step.plan.preempted.empty() || step.plan.load_started || !step.plan.refused.empty();
    if (!empty) in_flight_.push_back(&step);
    workers_.push_back(&step);
    start_workers();
    if (!empty) {
      empty_steps_ = 0;
    } else if (!in_flight_.empty()) {
      return;  // awaits the step in flight
    } else if (worker_ == &step) {
      awaited_ = &step;
      awaited_changed_ = changed;
      return;
    } else {
      return end_empty_step(changed);
    }
  }
}

Engine::Step& Engine::schedule_one() {
  const Time now = queue_.now();
  if (free_steps_.empty()) {
    steps_.push_back(std::make_unique<Step>());
    free_steps_.push_back(steps_.back().get());
  }
  Step& step = *free_steps_.back();
  free_steps_.pop_back();
  scheduler_->schedule(now, step.plan);
  deferrals_ += step.plan.deferrals;
  if (gate_ != nullptr) gate_->on_preempted(step.plan, now);
  step.transfers.clear();
  if (connector_ != nullptr) connector_->plan_stores(step.plan, now, step.transfers);
  step.recomputed = 0;
  step.prompts.clear();
  std::uint32_t tokens = 0;
  for (const ScheduledTokens& item : step.plan.items) {
    tokens += item.tokens;
    ActiveRequest& r = requests_[item.request];
    const bool again = r.computed_peak > item.computed;
    if (again) step.recomputed += std::min(r.computed_peak - item.computed, item.tokens);
    if (r.generated > 0 || item.computed >= r.prompt) continue;
    step.prompts.push_back({item.request, again});
    if (!again) r.clock.catch_up();
  }
  repeating_ = tokens > step.recomputed ? 0 : repeating_ + (tokens > 0 ? 1 : 0);
  looping_ = repeating_ >= kMostRepeating;
  scheduler_->apply(step.plan);
  if (!step.plan.refused.empty()) end_refused(step.plan);
  return step;
}

/// Nothing was computed: either there is a reason to schedule again at once, or the engine sleeps.
/// `changed`: the schedule preempted a request or started a load.
void Engine::end_empty_step(bool changed) {
  bool again = changed || completion_seen_;
  completion_seen_ = false;
  if (connector_ != nullptr) {
    completion_seen_ = connector_->poll(queue_.now());
    again = again || completion_seen_ || connector_->wants_step();
    tell_tiers();
  }
  state_ = State::kAsleep;
  if (!again) {
    empty_steps_ = 0;
    return;
  }
  KV_ASSERT(++empty_steps_ < kMaxEmptySteps,
            "{} steps at one instant without progress; {} running, {} waiting", empty_steps_,
            scheduler_->running(), scheduler_->waiting());
  wake();
}

// ---- worker
// --------------------------------------------------------------------------------------

void Engine::start_workers() {
  while (worker_ == nullptr && !workers_.empty()) {
    worker_ = workers_.front();
    workers_.pop_front();
    worker_->worker_start = queue_.now();
    worker_->flushed = kNever;
    worker_->forward_start = kNever;
    for (const PromptPart& part : worker_->prompts) {
      requests_[part.request].clock.begin_step(worker_->worker_start, part.again);
    }
    if (connector_ != nullptr) connector_->jobs().submit_stores(worker_->transfers.stores);
    if (cold_ != nullptr && !worker_->plan.items.empty() && cold_->must_wait()) {
      worker_->transfers.fences_pending = 1;
    }
    go_on();
  }
}

/// The worker part goes as far as the transfers that have ended let it.
void Engine::go_on() {
  if (worker_->forward_start != kNever) return watch_forward();
  if (worker_->transfers.fences_pending > 0) return;
  if (worker_->flushed == kNever) begin_loads();
  if (load_wait_->may_compute()) begin_forward();
}

/// The flushed stores, if any, have ended: loads may be submitted.
void Engine::begin_loads() {
  Step& step = *worker_;
  step.flushed = queue_.now();
  flush_stall_ += step.flushed - step.worker_start;
  load_wait_->begin(step.transfers.loads, !step.plan.items.empty());
}

/// Nothing holds the step back any longer: it computes.
void Engine::begin_forward() {
  Step& step = *worker_;
  step.forward_start = queue_.now();
  step.end_known = false;
  if (step.plan.has_work()) {
    step.compute = step.plan.items.empty() ? Duration(0) : forward_time(step.plan);
    if (pipeline_) step.compute = pipeline_->stage_time(step.compute);
    if (swap_ != nullptr) {
      const Duration copies = swap_->copy(step.plan, step.forward_start);
      step.forward_start += copies;
      step.flushed += copies;
    }
    cold_awaited_ = cold_ != nullptr && cold_->begin_step(step.plan);
    if (cold_awaited_) return;  // its end is known once the blocks it reads are there
    load_wait_->begin_forward(step.forward_start, step.compute);
    return watch_forward();
  }
  worker_ = nullptr;
  if (connector_ != nullptr) connector_->jobs().submit_stores(step.transfers.behind);
  free_steps_.push_back(&step);
  if (step.forward_start == step.worker_start) return;  // whoever started it goes on
  start_workers();
  if (awaited_ != &step) return;
  awaited_ = nullptr;
  end_empty_step(awaited_changed_);
}

/// Schedules the step's end once no layer waits for its piece of a load any longer.
void Engine::watch_forward() {
  Step& step = *worker_;
  if (step.end_known) return retime_forward();
  const std::optional<Time> end = load_wait_->forward_end(queue_.now());
  if (!end) return;
  step.end_known = true;
  const Duration late = *end - step.flushed - step.compute;
  load_stalls_ += late.count() > 0 ? 1 : 0;
  load_stall_ += late;
  step.undisturbed = *end;
  if (pipeline_) {
    queue_.schedule(*end, Phase::kStepDone, *this,
                    {static_cast<std::uint16_t>(Kind::kStageDone), 0, 0});
    return;
  }
  const bool slowed = clock_ && step.compute.count() > 0;
  schedule_end(slowed ? clock_->start(queue_.now(), work_of(step), connector_->jobs().busy())
                      : *end);
}

/// A transfer ended while the step computes: where copies slow it, less of that is left.
void Engine::retime_forward() {
  if (!clock_ || worker_->compute.count() == 0) return;
  if (const auto end = clock_->retime(queue_.now(), connector_->jobs().busy())) schedule_end(*end);
}

void Engine::schedule_end(Time end) {
  queue_.schedule(end, Phase::kStepDone, *this,
                  {static_cast<std::uint16_t>(Kind::kStepDone), 0, ++end_epoch_});
}

/// Decodes are bound by memory, what prefills add to them by compute.
StepWork Engine::work_of(const Step& step) {
  StepShape decodes;
  for (const ScheduledTokens& item : step.plan.items) {
    if (item.tokens > 1) continue;
    ++decodes.decodes;
    decodes.decode_context += item.computed + 1;
    decodes.sampled += item.samples ? 1 : 0;
  }
  Duration memory{0};
  if (decodes.decodes > 0) memory = std::min(cost_->step_time(decodes), step.compute);
  return {step.compute - memory, memory};
}

/// Streaming: blocks have arrived, above or below.
void Engine::on_cold_progress() {
  if (worker_ == nullptr) return;
  if (worker_->forward_start == kNever) {
    if (cold_->must_wait()) return;
    worker_->transfers.fences_pending = 0;
    return go_on();
  }
  if (!cold_awaited_ || cold_->reading()) return;
  cold_awaited_ = false;
  const ColdDecode& cold = config_.cold;
  const StreamedStep step{worker_->compute, queue_.now() - worker_->forward_start};
  worker_->undisturbed =
      worker_->forward_start + streamed_step(step, cold.form, cold.efficiency_ppm);
  schedule_end(worker_->undisturbed);
}

/// Streaming: what the step filled joins the cache, and what its decodes read is told.
void Engine::end_streamed_step(const StepPlan& plan) {
  const ColdDecode& cold = config_.cold;
  const auto share = static_cast<std::uint64_t>(cold.selected_ppm) *
                     static_cast<std::uint64_t>(kWholeShare - cold.page_cache_ppm);
  for (const ScheduledTokens& item : plan.items) {
    const ActiveRequest& r = requests_[item.request];
    if (item.computed < r.prompt || r.arrival < measure_from_) continue;
    observer_.on_cold_decode(item.cold * share / static_cast<std::uint64_t>(kWholeShare));
  }
  streaming_->on_step_end(plan, queue_.now());
  cold_->write_down(store_->take_moved_down());
}

Duration Engine::forward_time(const StepPlan& plan) {
  StepShape shape;
  chunks_.clear();
  const std::uint32_t budget = config_.token_budget > 0 ? config_.token_budget : ~std::uint32_t{0};
  for (const ScheduledTokens& item : plan.items) {
    if (item.tokens == 1) {
      ++shape.decodes;
      shape.decode_context += std::min(item.computed + 1, budget);
    } else {
      chunks_.push_back({item.tokens, std::min(item.computed, budget)});
    }
    shape.sampled += item.samples ? 1 : 0;
  }
  shape.prefills = chunks_;
  if (config_.tensor_parallel > 1) {
    std::uint64_t tokens = shape.decodes;
    for (const PrefillChunk& chunk : chunks_) tokens += chunk.tokens;
    collective_ += cost_->collective_time(tokens);
  }
  return cost_->step_time(shape);
}

/// The batch goes on through the other stages, and the worker is free for the next one.
void Engine::leave_first_stage() {
  Step& step = *worker_;
  worker_ = nullptr;
  step.undisturbed = pipeline_->enter(queue_.now(), step.compute);
  queue_.schedule(step.undisturbed, Phase::kStepDone, *this,
                  {static_cast<std::uint16_t>(Kind::kStepDone), 0, end_epoch_});
  start_workers();
}

void Engine::finish_step() {
  const Time now = queue_.now();
  Step& step = *in_flight_.front();
  KV_ASSERT(pipeline_ || worker_ == &step, "steps end out of order");
  in_flight_.pop_front();
  if (!pipeline_) worker_ = nullptr;
  for (const PromptPart& part : step.prompts) requests_[part.request].clock.end_step(now);
  if (gate_ != nullptr) gate_->on_step_end(step.plan, now);
  if (streaming_ != nullptr) {
    end_streamed_step(step.plan);
  } else {
    scheduler_->on_step_end(step.plan, now);
  }
  emit_tokens(step.plan);
  completion_seen_ = false;
  if (connector_ != nullptr) {
    connector_->jobs().submit_stores(step.transfers.behind);
    completion_seen_ = connector_->poll(now);
  }
  std::uint32_t tokens = 0;
  for (const ScheduledTokens& item : step.plan.items) tokens += item.tokens;
  copy_harm_ += now - step.undisturbed;
  const Duration stall =
      pipeline_ ? step.forward_start - step.worker_start : now - step.worker_start - step.compute;
  if (tokens > 0) {  // else v0 only copied
    observer_.on_step({step.worker_start, now, stall, tokens, step.recomputed,
                       static_cast<std::uint32_t>(step.plan.items.size()), scheduler_->waiting(),
                       step.plan.starved});
  }
  tell_tiers();
  last_step_end_ = now;
  free_steps_.push_back(&step);
  start_workers();
  // Nothing else happens at this instant before the next schedule: no need for an event.
  if (!queue_.pending_now_before(Phase::kStepStart)) return schedule_steps();
  state_ = State::kAsleep;
  wake();
}

/// Requests whose known tokens are all computed emit the next one; the last one ends them.
void Engine::emit_tokens(const StepPlan& plan) {
  const Time now = queue_.now();
  std::uint32_t steady = 0;  // requests whose previous token is the previous step's
  for (const ScheduledTokens& item : plan.items) {
    if (!item.samples) continue;
    ActiveRequest& r = requests_[item.request];
    scheduler_->collect(r);
    if (r.generated == 1) {
      r.first_token = now;
      r.clock.stop(now);
    } else if (r.arrival < measure_from_) {
      // The warm-up's gaps are not told.
    } else if (r.last_token == last_step_end_) {
      ++steady;
    } else {
      observer_.on_token_gap(now - r.last_token, 1);
    }
    r.last_token = now;
    if (r.generated == r.output)
      end_request(item.request, RequestStatus::kCompleted, Reason::kNone);
  }
  if (steady > 0) observer_.on_token_gap(now - last_step_end_, steady);
}

// ---- ends
// ----------------------------------------------------------------------------------------

void Engine::end_request(Handle h, RequestStatus status, Reason reason) {
  const ActiveRequest& r = requests_[h];
  RequestRecord record;
  record.request = r.id;
  record.due = r.due;
  record.arrival = r.arrival;
  record.scheduled = r.scheduled;
  record.first_token = r.first_token;
  if (status == RequestStatus::kCompleted) {
    record.finish = queue_.now();
    record.ttft = r.clock.parts();
    const Duration sum = std::accumulate(record.ttft.begin(), record.ttft.end(), Duration(0));
    KV_ASSERT(sum == r.first_token - r.arrival, "request {}: stages of {} ns, first token after {}",
              raw(r.id), sum.count(), (r.first_token - r.arrival).count());
    if (stages_ != nullptr) stages_->on_stages(marks_[static_cast<std::size_t>(h)]);
  }
  record.input_tokens = r.prompt;
  record.output_tokens = r.output;
  record.cached_tokens = r.cached_tokens;
  record.preemptions = r.preemptions;
  record.status = status;
  record.reason = reason;
  // What never ends is a fault of the system measured, whenever it came.
  record.warmup = r.arrival < measure_from_ && status != RequestStatus::kStuck;
  observer_.on_request(record);
  if (gate_ != nullptr) gate_->leave(requests_[h], queue_.now());
  const RequestId id = r.id;
  if (status == RequestStatus::kCompleted) {
    const bool held = scheduler_->finish(h, queue_.now());
    if (connector_ != nullptr) {
      connector_->on_finished(h, held);
    } else {
      requests_.recycle(h);
    }
  } else {
    if (connector_ != nullptr) connector_->on_withdrawn(requests_[h], queue_.now());
    requests_.recycle(h);
  }
  if (listener_ != nullptr && status != RequestStatus::kStuck) listener_->on_request_end(id);
}

/// v0 gives a request up that it can never hold: before it ran, or in the middle of its answer.
void Engine::end_refused(const StepPlan& plan) {
  for (const RefusedRequest& refused : plan.refused) {
    const bool rejected =
        refused.reason == Reason::kExceedsPool && requests_[refused.request].generated == 0;
    end_request(refused.request, rejected ? RequestStatus::kRejected : RequestStatus::kFailed,
                refused.reason);
  }
}

/// The step could not be scheduled, and the process ends with it.
void Engine::die(Step& step) {
  dead_ = true;
  free_steps_.push_back(&step);
  state_ = State::kAsleep;
  for (const Handle h : v0_->abandon()) {
    end_request(h, RequestStatus::kFailed, Reason::kEngineDead);
  }
  tell_tiers();
}

std::uint32_t Engine::finish_run() {
  std::vector<Handle> stuck = scheduler_->queued();
  if (looping_) {
    const std::vector<Handle> served = scheduler_->served();
    standstill_.emplace();
    standstill_->kind = Standstill::Kind::kPreemptionLoop;
    standstill_->steps = repeating_;
    if (!served.empty()) standstill_->head = requests_[served.front()].id;
    stuck.insert(stuck.begin(), served.begin(), served.end());
  } else if (!stuck.empty()) {
    standstill_ = scheduler_->standstill();
  }
  for (const Handle h : stuck) end_request(h, RequestStatus::kStuck, Reason::kDeadlock);
  KV_ASSERT(looping_ || scheduler_->running() == 0, "{} requests still running without an event",
            scheduler_->running());
  if (!stuck.empty()) return static_cast<std::uint32_t>(stuck.size());
  KV_ASSERT(path_ == nullptr || path_->idle(), "a transfer was never finished");
  if (pool_ != nullptr) pool_->check_drained();
  if (store_ != nullptr) store_->check_drained();
  if (v0_ != nullptr) v0_->blocks().check_drained();
  if (connector_ != nullptr) {
    KV_ASSERT(connector_->idle(), "a transfer was never polled");
    connector_->check_drained();
  }
  KV_ASSERT(requests_.alive() == 0, "{} requests were never let go", requests_.alive());
  return 0;
}

void Engine::tell_tiers() {
  const auto tell = [&](std::uint32_t tier, const Told& now_known) {
    Told& told = told_[tier];
    if (told == now_known) return;
    observer_.on_tier_change({queue_.now(), tier,
                              static_cast<std::uint32_t>(now_known.stored - told.stored),
                              static_cast<std::uint32_t>(now_known.evicted - told.evicted),
                              now_known.resident, now_known.used});
    told = now_known;
  };
  if (store_ != nullptr) {
    const StreamingStore::Level hbm = store_->hbm_level();
    tell(0, {hbm.stored, hbm.evicted, hbm.used, hbm.resident});
    const StreamingStore::Level lower = store_->lower_level();
    if (path_ != nullptr) tell(1, {lower.stored, lower.evicted, lower.used, lower.resident});
    return tell_needed();
  }
  if (v0_ != nullptr) {
    tell(0, {0, 0, v0_->blocks().gpu().used(), 0});
    const std::uint32_t cpu = v0_->blocks().cpu().used();
    const std::uint64_t out = v0_->swaps().blocks_out;
    if (swap_ != nullptr) tell(1, {out, out - cpu, cpu, cpu});
    return;
  }
  tell(0, {pool_->registered(), pool_->evictions(), pool_->used(), pool_->cached()});
  if (connector_ != nullptr) {
    for (std::uint32_t i = 0; i < connector_->tiers(); ++i) {
      const TierLevel below = connector_->level(i);
      tell(i + 1, {below.stored, below.evicted, below.used, below.resident});
    }
  }
}

void Engine::tell_needed() {
  const StreamingStore::Needed needed = store_->needed();
  observer_.on_needed_blocks({queue_.now(), needed.blocks, needed.in_hbm, needed.below_only});
}

}  // namespace spillway
