#include "models/engine/engine.hpp"

#include <algorithm>
#include <numeric>

#include "models/engine/connectors/chunks/ticker.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

// More empty steps at one instant than any rule of the specification can cause: a defect of ours.
constexpr std::uint32_t kMaxEmptySteps = 100'000;

// Steps that only compute again what preemptions took: beyond any such stretch that ends.
constexpr std::uint32_t kMostRepeating = 100'000;

std::unique_ptr<AdmissionPolicy> admission_of(const EngineParts& parts) {
  AdmissionContext context;
  context.gpu_blocks = parts.config.usable_blocks();
  context.lower_blocks = parts.lower == nullptr ? 0 : parts.lower->capacity_blocks;
  return parts.admission.make(context);
}

}  // namespace

Engine::Engine(EventQueue& queue, Network& network, const ChainMap& chains, EngineParts parts,
               Observer& observer)
    : queue_(queue),
      workload_(chains.workload()),
      config_(parts.config),
      observer_(observer),
      measure_from_(parts.measure_from),
      classes_(std::move(parts.classes)),
      stage_watch_(parts.stages),
      token_listener_(parts.tokens),
      group_(parts.group),
      place_in_group_(parts.place_in_group),
      takes_turns_(takes_turns(config_.connector)),
      rank_(takes_turns_ || config_.sglang.mooncake ? parts.number : 0),
      cost_(std::move(parts.cost), config_.token_budget,
            config_.tensor_parallel > 1 || parts.group != nullptr),
      chains_(chains, parts.names_of_one_in),
      requests_(chains_.longest_chain() * config_.groups.count()),
      gate_(admission_of(parts), requests_),
      assembly_(parts.assemble(
          {queue, network, workload_, config_, chains_, requests_, cost_, observer, *this}, parts)),
      scheduler_(*assembly_.scheduler),
      connector_(*assembly_.connector),
      moves_(*assembly_.moves),
      depth_(config_.batches_in_flight()),
      stages_(config_.pipeline_parallel) {
  if (takes_turns_ && parts.things != nullptr)
    ticker_ = &ticker_of(queue, workload_, *parts.things);
  KV_ASSERT(chains.block_tokens() == config_.block_tokens, "chains in blocks of another size");
  KV_ASSERT(stages_.single() || !config_.async_scheduling,
            "a pipeline with asynchronous scheduling");
  KV_ASSERT(stages_.single() || group_ == nullptr, "a pipeline that steps with other engines");
}

void Engine::watch_pool(StoreWatch& watch) {
  if (assembly_.base != nullptr) assembly_.base->watch_pool(watch);
}

void Engine::watch_lower(StoreWatch& watch) {
  connector_.tell(watch);
}

EngineStats Engine::stats() const {
  EngineStats stats;
  scheduler_.report(stats);
  connector_.report(stats);
  moves_.report(stats);
  stats.storage = assembly_.storage;
  stats.deferrals = deferrals_;
  stats.flush_stall = flush_stall_;
  stats.collective = cost_.collective();
  return stats;
}

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
  if (const Reason never = scheduler_.refuses(r); never != Reason::kNone) {
    return end_request(h, RequestStatus::kRejected, never);
  }
  const std::uint64_t blocks = scheduler_.blocks_of(r);
  const Reason refusal =
      gate_.ask(r, blocks, scheduler_.running(), scheduler_.waiting(), r.arrival);
  if (refusal != Reason::kNone) return end_request(h, RequestStatus::kRejected, refusal);
  gate_.enter(h, blocks, r.arrival);
  arrived_ = true;
  watch_waits();
  chains_.name(request);
  scheduler_.enqueue(h);
  wake();
}

std::vector<StageMark>* Engine::marks_of(Handle h) {
  if (stage_watch_ == nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(h);
  if (marks_.size() <= index) marks_.resize(index + 1);
  return &marks_[index];
}

/// Sees to an event at the next deadline of a waiting request. It runs before the schedule of its
/// instant, and before arrivals, which find the places that it frees.
void Engine::watch_waits() {
  if (waits_watched_) return;
  const Time at = gate_.next_deadline();
  if (at == Time::max()) return;
  waits_watched_ = true;
  queue_.schedule(at, Phase::kStepDone, *this,
                  {static_cast<std::uint16_t>(Kind::kWaitedTooLong), 0, 0});
}

void Engine::reject_waiting() {
  waits_watched_ = false;
  Handle h{};
  bool any = false;
  while (gate_.take_expired(queue_.now(), h)) {
    any = true;
    scheduler_.withdraw(h);
    end_request(h, RequestStatus::kRejected, Reason::kQueueTimeout);
  }
  watch_waits();
  if (any) wake();  // whoever stood behind may fit
}

void Engine::wake() {
  if (state_ != State::kAsleep || looping_) return;
  if (group_ != nullptr && group_->busy()) return group_->wake_when_free(place_in_group_);
  state_ = State::kWoken;
  // Within its turn, behind what arrives at this instant, before others' turns.
  const bool goes_on = takes_turns_ && in_turn_;
  queue_.schedule(queue_.now(), goes_on ? Phase::kArrival : Phase::kStepStart,
                  goes_on ? EventQueue::kLastRank : rank_, *this,
                  {static_cast<std::uint16_t>(Kind::kStepStart), 0, 0});
}

void Engine::on_transfer_progress() {
  on_step_progress();
  wake();
}

void Engine::on_step_progress() {
  if (dead_) return;
  if (worker_ == nullptr) return;
  const bool awaited = awaits_begin();
  go_on();
  if (!awaited || awaits_begin() || moves_.plans_ahead()) return;
  // The next step may be planned now, if there is one in flight at all.
  if (worker_ != nullptr && in_flight_.size() < depth_) state_ = State::kAsleep;
}

void Engine::on_load(std::uint32_t job, LoadEvent event) {
  connector_.tell_clocks(job, event, queue_.now());
}

void Engine::on_promotion(Handle h, RequestId request, LoadEvent event) {
  ActiveRequest& r = requests_[h];
  if (r.id == request) r.clock.on_promotion(event, queue_.now());  // else it is gone
}

void Engine::on_event(EventPayload payload) {
  if (dead_) return;  // with what was under way
  const auto kind = static_cast<Kind>(payload.kind);
  in_turn_ = kind == Kind::kWorkerDone || kind == Kind::kStepStart;
  handle(kind, payload.subject);
  in_turn_ = false;
}

void Engine::handle(Kind kind, std::uint32_t subject) {
  switch (kind) {
    case Kind::kWorkerDone:
      return subject == end_epoch_ && moves_.may_end() ? end_worker() : void();
    case Kind::kLeftStages:
      return finish_step();
    case Kind::kWaitedTooLong:
      return reject_waiting();
    case Kind::kStepStart:
      break;
  }
  if (in_flight_.empty() && poll(queue_.now())) completion_seen_ = true;
  // A request that ended by it may have sent the next one.
  if (!connector_.failed().empty() &&
      queue_.pending_now_before(Phase::kArrival, EventQueue::kLastRank)) {
    state_ = State::kAsleep;
    return wake();
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
    if (!moves_.plans_ahead() && awaits_begin()) return;
    Step& step = schedule_one();
    if (step.plan.fatal) return die(step);
    const bool empty = !step.plan.has_work();
    const bool loads = step.plan.load_started && connector_.repeats_after_load();
    const bool changed = loads || !step.plan.preempted.empty() || !step.plan.refused.empty();
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

/// The step planned last has not begun to compute.
bool Engine::awaits_begin() const {
  return !workers_.empty() || (worker_ != nullptr && worker_->forward_start == kNever);
}

Engine::Step& Engine::schedule_one() {
  const Time now = queue_.now();
  if (free_steps_.empty()) {
    steps_.push_back(std::make_unique<Step>());
    free_steps_.push_back(steps_.back().get());
  }
  Step& step = *free_steps_.back();
  free_steps_.pop_back();
  arrived_ = false;
  scheduler_.schedule(now, step.plan);
  deferrals_ += step.plan.deferrals;
  gate_.on_preempted(step.plan, now);
  step.transfers.clear();
  connector_.plan_stores(step.plan, now, step.transfers);
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
  scheduler_.apply(step.plan);
  if (!step.plan.refused.empty()) end_refused(step.plan);
  for (const Handle h : step.plan.completed) {
    end_request(h, RequestStatus::kCompleted, Reason::kNone);
  }
  return step;
}

/// Nothing was computed: either there is a reason to schedule again at once, or the engine sleeps.
/// `changed`: the schedule preempted a request or started a load.
void Engine::end_empty_step(bool changed) {
  const bool ended = poll(queue_.now());
  const bool seen = completion_seen_ && connector_.repeats_after_end();
  const bool again = changed || seen || ended || arrived_ || connector_.wants_step();
  completion_seen_ = ended;
  // Between steps only transfers change what tiers hold.
  if (connector_.tiers() > 0 || connector_.holds_finished()) tell_tiers();
  state_ = State::kAsleep;
  if (!again) {
    empty_steps_ = 0;
    return;
  }
  KV_ASSERT(++empty_steps_ < kMaxEmptySteps,
            "{} steps at one instant without progress; {} running, {} waiting", empty_steps_,
            scheduler_.running(), scheduler_.waiting());
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
    if (group_ != nullptr && worker_->plan.has_work()) group_->expect(place_in_group_);
    moves_.start(worker_->transfers);
    go_on();
  }
}

/// The worker part goes as far as the transfers that have ended let it.
void Engine::go_on() {
  Step& step = *worker_;
  if (joined_) return;
  if (step.forward_start != kNever) return watch_forward();
  if (step.flushed == kNever) {
    if (!moves_.flushed(step.plan, step.transfers)) return;
    step.flushed = queue_.now();
    flush_stall_ += step.flushed - step.worker_start - moves_.asked();
    moves_.load(step.plan, step.transfers, step.flushed);
  }
  if (moves_.may_compute()) begin_forward();
}

/// Nothing holds the step back any longer: it computes.
void Engine::begin_forward() {
  Step& step = *worker_;
  step.forward_start = queue_.now();
  if (!step.plan.has_work()) return end_empty(step);
  if (group_ != nullptr) {
    joined_ = true;
    return group_->join(place_in_group_, cost_.shape_of(step.plan));
  }
  compute_for(step.plan.items.empty() ? Duration(0)
                                      : stages_.stage_time(cost_.of(moves_.left_of(step.plan))));
}

void Engine::begin_together(Duration compute, std::span<const StepShape> shapes) {
  joined_ = false;
  cost_.count(shapes[place_in_group_], shapes);
  worker_->forward_start = queue_.now();
  compute_for(compute);
}

void Engine::compute_for(Duration compute) {
  Step& step = *worker_;
  step.compute = compute;
  step.forward_start += moves_.begin_forward(step.plan, step.forward_start, step.compute);
  step.connector = moves_.work();
  step.connector.compute = compute;
  watch_forward();
}

/// The worker part of a step that computes nothing is over.
void Engine::end_empty(Step& step) {
  worker_ = nullptr;
  moves_.end(step.transfers, queue_.now());
  free_steps_.push_back(&step);
  if (step.forward_start == step.worker_start) return;  // whoever started it goes on
  start_workers();
  if (awaited_ != &step) return;
  awaited_ = nullptr;
  end_empty_step(awaited_changed_);
}

/// Schedules the end of the worker part once it is certain, and anew whenever it has moved.
void Engine::watch_forward() {
  const std::optional<Time> end = moves_.new_end(queue_.now());
  if (!end) return;
  queue_.schedule(*end, takes_turns_ ? Phase::kStepStart : Phase::kStepDone, rank_, *this,
                  {static_cast<std::uint16_t>(Kind::kWorkerDone), 0, ++end_epoch_});
}

/// The step has ended with its worker part, or goes on through the other stages, and the worker is
/// free for the next one.
void Engine::end_worker() {
  Step& step = *worker_;
  worker_ = nullptr;
  if (group_ != nullptr) group_->leave(place_in_group_);
  step.stall = queue_.now() - step.worker_start - step.compute - step.connector.took;
  if (stages_.single()) {
    KV_ASSERT(in_flight_.front() == &step, "steps end out of order");
    return finish_step();
  }
  queue_.schedule(stages_.enter(queue_.now(), step.compute), Phase::kStepDone, *this,
                  {static_cast<std::uint16_t>(Kind::kLeftStages), 0, 0});
  start_workers();
}

void Engine::finish_step() {
  const Time now = queue_.now();
  Step& step = *in_flight_.front();
  in_flight_.pop_front();
  moves_.computed(step.plan, now);
  for (const PromptPart& part : step.prompts) requests_[part.request].clock.end_step(now);
  gate_.on_step_end(step.plan, now);
  scheduler_.on_step_end(step.plan, now);
  emit_tokens(step.plan);
  moves_.end(step.transfers, now);
  completion_seen_ = poll(now);
  std::uint32_t tokens = 0;
  for (const ScheduledTokens& item : step.plan.items) tokens += item.tokens;
  if (tokens > 0) {  // else v0 only copied
    observer_.on_step({step.worker_start, now, step.stall, tokens, step.recomputed,
                       static_cast<std::uint32_t>(step.plan.items.size()), scheduler_.waiting(),
                       step.plan.starved, 0, step.connector});
  }
  tell_tiers();
  last_step_end_ = now;
  free_steps_.push_back(&step);
  start_workers();
  // Nothing else happens at this instant before the next schedule: no need for an event.
  const bool waits = takes_turns_
                         ? queue_.pending_now_before(Phase::kArrival, EventQueue::kLastRank)
                         : queue_.pending_now_before(Phase::kStepStart, rank_);
  if (!waits) return schedule_steps();
  state_ = State::kAsleep;
  wake();
}

/// Requests whose known tokens are all computed emit the next one; the last one ends them.
void Engine::emit_tokens(StepPlan& plan) {
  const Time now = queue_.now();
  std::uint32_t steady = 0;  // requests whose previous token is the previous step's
  const std::span<const FailedLoad> failed = moves_.failed_loads();
  for (ScheduledTokens& item : plan.items) {
    if (!failed.empty() && std::any_of(failed.begin(), failed.end(),
                                       [&](const FailedLoad& f) { return void_of(f, item); })) {
      continue;
    }
    if (!item.samples) continue;
    ActiveRequest& r = requests_[item.request];
    scheduler_.collect(r);
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
    if (token_listener_ != nullptr) token_listener_->on_token(r.id);
    if (r.generated == r.output)
      end_request(item.request, RequestStatus::kCompleted, Reason::kNone);
  }
  if (steady > 0) observer_.on_token_gap(now - last_step_end_, steady);
}

/// What has ended is taken note of, finished requests that the connector held give their blocks
/// back, and requests end whose loads failed.
bool Engine::poll(Time now) {
  const bool ended = connector_.poll(now);
  for (const Handle h : connector_.let_go()) {
    scheduler_.let_go(h, now);
    connector_.on_let_go(h);
  }
  for (const Handle h : connector_.failed()) {
    end_request(h, RequestStatus::kFailed, Reason::kKvLoadFailed);
  }
  return ended;
}

/// Whether the load that failed is this one's: what the step computed for it does not count.
bool Engine::void_of(const FailedLoad& failed, ScheduledTokens& item) {
  if (failed.request != item.request) return false;
  if (failed.ends) {
    end_request(item.request, RequestStatus::kFailed, Reason::kKvLoadFailed);
  } else {
    scheduler_.roll_back(item.request, failed.computed, item.samples);
  }
  return true;
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
    if (stage_watch_ != nullptr) stage_watch_->on_stages(marks_[static_cast<std::size_t>(h)]);
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
  if (ticker_ != nullptr) ticker_->on_request_end();
  gate_.leave(requests_[h], queue_.now());
  const RequestId id = r.id;
  if (status == RequestStatus::kCompleted) {
    const bool held = scheduler_.finish(h, queue_.now());
    connector_.on_finished(h, held);
  } else {
    if (reason == Reason::kKvLoadFailed) scheduler_.finish(h, queue_.now());
    connector_.on_withdrawn(requests_[h], queue_.now());
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
  for (const Handle h : scheduler_.abandon()) {
    end_request(h, RequestStatus::kFailed, Reason::kEngineDead);
  }
  tell_tiers();
}

std::uint32_t Engine::finish_run() {
  std::vector<Handle> stuck = scheduler_.queued();
  if (looping_ || moves_.hangs()) {
    const std::vector<Handle> served = scheduler_.served();
    standstill_.emplace();
    standstill_->kind = looping_ ? Standstill::Kind::kPreemptionLoop : Standstill::Kind::kNoBuffer;
    standstill_->steps = repeating_;
    if (!served.empty()) standstill_->head = requests_[served.front()].id;
    stuck.insert(stuck.begin(), served.begin(), served.end());
  } else if (!stuck.empty()) {
    standstill_ = scheduler_.standstill();
  }
  for (const Handle h : stuck) end_request(h, RequestStatus::kStuck, Reason::kDeadlock);
  KV_ASSERT(looping_ || moves_.hangs() || scheduler_.running() == 0,
            "{} requests still running without an event", scheduler_.running());
  if (!stuck.empty()) return static_cast<std::uint32_t>(stuck.size());
  KV_ASSERT(moves_.idle(), "a transfer was never finished");
  KV_ASSERT(connector_.idle(), "a transfer was never polled");
  scheduler_.check_drained();
  connector_.check_drained();
  KV_ASSERT(requests_.alive() == 0, "{} requests were never let go", requests_.alive());
  return 0;
}

void Engine::tell_tiers() {
  const Time now = queue_.now();
  const auto tell = [&](std::uint32_t tier, const TierLevel& level) {
    TierLevel& told = told_[tier];
    if (told == level) return;
    observer_.on_tier_change({now, tier, static_cast<std::uint32_t>(level.stored - told.stored),
                              static_cast<std::uint32_t>(level.evicted - told.evicted),
                              level.resident, level.used});
    told = level;
  };
  const std::uint32_t above = scheduler_.tiers();
  for (std::uint32_t i = 0; i < above; ++i) tell(i, scheduler_.level(i));
  for (std::uint32_t i = 0; i < connector_.tiers(); ++i) tell(above + i, connector_.level(i));
  scheduler_.tell_needed(now, observer_);
}

}  // namespace spillway
