#include "models/engine/connectors/tier_stack.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace spillway {

namespace {

std::uint32_t share_of(double share, std::uint64_t capacity) {
  return static_cast<std::uint32_t>(std::floor(share * static_cast<double>(capacity)));
}

}  // namespace

TierStack::TierStack(const Environment& e, BlockStore& first, const TrimRule& first_trim,
                     const std::vector<LevelConfig>& levels)
    : queue_(e.queue),
      first_(first),
      first_trim_(first_trim),
      trim_due_(levels.size() + 1),
      waiter_(e.waiter),
      chunk_bytes_(e.chunk_bytes),
      to_submit_(levels.size()),
      waiting_(levels.size()),
      writes_under_way_(levels.size()),
      promoting_(levels.size()) {
  KV_ASSERT(levels.size() <= 8, "{} levels behind host memory", levels.size());
  for (const LevelConfig& level : levels) {
    levels_.push_back(
        std::make_unique<Level>(Level::Environment{e.queue, e.network, e.observer, *this, e.chunks,
                                                   e.context, e.shared, e.global},
                                level));
    looks_ahead_ = looks_ahead_ || level.rules.prefetch > 0;
  }
  pins_.resize(slots_for(e.context.blocks));
}

void TierStack::grow_blocks(std::uint32_t blocks) {
  for (const auto& level : levels_) level->grow_blocks(blocks);
  pins_.resize(slots_for(blocks));
}

void TierStack::count(std::size_t level, std::uint64_t queries, std::uint64_t hits) {
  levels_[level]->counters.queries += queries;
  levels_[level]->counters.hits += hits;
}

bool TierStack::idle() const {
  return !any_ended_ && jobs_.none_in_use() &&
         std::all_of(levels_.begin(), levels_.end(), [](const auto& l) { return l->idle(); });
}

void TierStack::check_drained() const {
  KV_ASSERT(pinned_slots_ == 0, "a level keeps {} slots of host memory", pinned_slots_);
  for (const auto& level : levels_) {
    if (!level->shared()) level->store().check_drained();
  }
}

// ---- look-up
// -------------------------------------------------------------------------------------

TierStack::Asker& TierStack::asker(RequestId request) {
  if (asker_of_.size() <= raw(request)) asker_of_.resize(raw(request) + 1);
  std::uint32_t& index = asker_of_[raw(request)];
  if (index == 0 && free_askers_.empty()) {
    askers_.emplace_back();
    index = static_cast<std::uint32_t>(askers_.size());
  } else if (index == 0) {
    index = free_askers_.back();
    free_askers_.pop_back();
  }
  return askers_[index - 1];
}

TierStack::Mark& TierStack::mark_of(Asker& who, const ChunkAt& at) {
  if (who.marks.size() <= at.position) {
    const std::size_t before = who.marks.capacity();
    who.marks.resize(at.position + 1);
    marks_claim_.grow((who.marks.capacity() - before) * sizeof(Mark));
  }
  who.marks[at.position].chunk = at.chunk;
  return who.marks[at.position];
}

/// What is known of the level and the chunk; the first question of a request is noted.
Level::Answer TierStack::ask(std::uint32_t number, Mark& mark) {
  Level& level = *levels_[number];
  const Level::Answer answer = level.ask(mark.chunk);
  if ((mark.asked >> number & 1) == 0) {
    mark.asked = static_cast<std::uint8_t>(mark.asked | 1U << number);
    level.keep(mark.chunk);
  }
  if (answer != Level::Answer::kYes || level.holds(level.name_of(mark.chunk))) return answer;
  level.deny(mark.chunk);
  return Level::Answer::kNo;
}

/// All levels are asked in turn, even behind one whose answer is awaited, as upstream does.
/// `ahead`: those that may be read before the scheduler comes to the request, as far as they may.
TierStack::Verdict TierStack::find(const ChunkAt& at, Handle handle, const Access& access,
                                   bool ahead) {
  Asker& who = asker(access.request);
  if (who.livelocked) return Verdict::kRetry;
  who.handle = handle;
  Mark& mark = mark_of(who, at);
  bool retry = false;
  for (std::uint32_t i = 0; i < levels_.size(); ++i) {
    const std::uint32_t most = levels_[i]->rules().prefetch;
    if (ahead && most == 0) continue;
    const Level::Answer answer = ask(i, mark);
    if (answer == Level::Answer::kYes) {
      if (ahead && promoting_[i] >= most) return Verdict::kRetry;
      return promote(i, who, at.position, access) ? Verdict::kPending : Verdict::kMiss;
    }
    retry = retry || answer != Level::Answer::kNo;
  }
  return retry ? Verdict::kRetry : Verdict::kMiss;
}

/// A slot of host memory for the chunk, whatever had to leave for it; false where none can be had.
bool TierStack::promote(std::uint32_t number, Asker& who, std::uint32_t position,
                        const Access& access) {
  Level& level = *levels_[number];
  Mark& mark = who.marks[position];
  if (!make_room({&mark.chunk, 1}, {}, access)) {
    ++level.counters.promotion_failures;
    if (pinned_slots_ > 0) ++promotions_refused_;
    refused_in_step_ = true;
    return false;
  }
  if (++mark.promoted == kMostPromotions) {
    who.livelocked = true;
    ++livelocked_;
  }
  mark.source = static_cast<std::uint8_t>(number + 1);
  ++level.counters.promoted_chunks;
  // One job for each request and level in a step.
  auto& open_jobs = to_submit_[number];
  const bool open = !open_jobs.empty() && jobs_[open_jobs.back()].request == access.request;
  const std::uint32_t job =
      open ? open_jobs.back() : make_job(number, Kind::kPromotion, access.request);
  if (!open) {
    jobs_[job].handle = who.handle;
    open_jobs.push_back(job);
    level.counters.promoted_behind += position;
  }
  const SlotId from = level.store().place(level.name_of(mark.chunk)).slot();
  level.store().begin_read({&from, 1});
  if (level.rules().inclusion == Inclusion::kExclusive) {
    level.store().leave(from, DropCause::kMoved);
  }
  jobs_[job].below.push_back(from);
  first_.begin_write({&mark.chunk, 1}, jobs_[job].slots);
  ++promoting_[number];
  return true;
}

std::uint32_t TierStack::source(RequestId request, std::uint32_t position) const {
  if (asker_of_.size() <= raw(request) || asker_of_[raw(request)] == 0) return 0;
  const Asker& who = askers_[asker_of_[raw(request)] - 1];
  return position < who.marks.size() ? who.marks[position].source : 0;
}

void TierStack::on_load(RequestId request) {
  if (asker_of_.size() <= raw(request) || asker_of_[raw(request)] == 0) return;
  Asker& who = askers_[asker_of_[raw(request)] - 1];
  for (Mark& mark : who.marks) mark.promoted = 0;
  if (who.livelocked) --livelocked_;
  who.livelocked = false;
}

void TierStack::forget(RequestId request) {
  if (asker_of_.size() <= raw(request) || asker_of_[raw(request)] == 0) return;
  Asker& who = askers_[asker_of_[raw(request)] - 1];
  for (const Mark& mark : who.marks) {
    for (std::uint32_t i = 0; i < levels_.size(); ++i) {
      if ((mark.asked >> i & 1) != 0) levels_[i]->let_go(mark.chunk);
    }
  }
  who.marks.clear();
  who.livelocked = false;
  free_askers_.push_back(asker_of_[raw(request)]);
  asker_of_[raw(request)] = 0;
}

// ---- room
// ----------------------------------------------------------------------------------------

bool TierStack::make_room(BlockSpan fresh, SlotSpan offered, const Access& access) {
  return make_room_at(kFirst, fresh, offered, access);
}

bool TierStack::make_room_at(std::size_t level, BlockSpan fresh, SlotSpan offered,
                             const Access& access) {
  BlockStore& store = store_at(level);
  if (!spills(level)) {
    const bool made = store.make_room(fresh, offered, access);
    return made;
  }
  const auto wanted = static_cast<std::uint32_t>(fresh.size());
  const std::uint32_t coming = store.room() + store.leaving();
  if (wanted > coming) give_up(level, wanted - coming, fresh, offered, access);
  return wanted <= store.room();
}

/// The next `count` blocks leave for the next level: at once where it holds them, else once it
/// does. Precondition: the level spills.
void TierStack::give_up(std::size_t level, std::uint32_t count, BlockSpan fresh, SlotSpan offered,
                        const Access& access) {
  BlockStore& store = store_at(level);
  store.begin_leaving(count, fresh, offered, access, victims_);
  if (victims_.empty()) return;
  const auto to = static_cast<std::uint32_t>(level + 1);
  const auto held = std::stable_partition(victims_.begin(), victims_.end(), [&](SlotId slot) {
    return !levels_[to]->holds(name_at(to, level, slot));
  });
  store.end_read({held, victims_.end()}, access);
  victims_.erase(held, victims_.end());
  if (victims_.empty()) return;
  const std::uint32_t job =
      make_job(to, level == kFirst ? Kind::kWrite : Kind::kMove, access.request);
  jobs_[job].slots = victims_;
  begin_or_wait(job, access);
}

/// What is on its way to a level does not count: else it would drive out what has just arrived, the
/// only blocks that are idle.
std::uint32_t TierStack::excess(std::size_t level, const TrimRule& rule) {
  const BlockStore& store = store_at(level);
  const std::uint32_t held = store.used() - store.leaving() - store.writing();
  if (held <= share_of(rule.above, store.capacity())) return 0;
  return held - share_of(rule.to, store.capacity());
}

/// More than the rule allows may lie at a level: as much leaves as it says, now or when it looks.
void TierStack::trim(std::size_t level, const TrimRule& rule, const Access& access) {
  if (rule.above >= 1) return;
  if (rule.period == Duration(0)) return trim_now(level, rule, access);
  std::uint8_t& due = trim_due_[level + 1];  // host memory comes first: kFirst + 1 is 0
  if (due != 0 || excess(level, rule) == 0) return;
  due = 1;
  const Time next{(access.now.time_since_epoch() / rule.period + 1) * rule.period};
  queue_.schedule(next, Phase::kTransferDone, *this, {0, 0, static_cast<std::uint32_t>(level + 1)});
}

void TierStack::trim_now(std::size_t level, const TrimRule& rule, const Access& access) {
  const std::uint32_t count = excess(level, rule);
  if (count == 0) return;
  if (spills(level)) return give_up(level, count, {}, {}, access);
  store_at(level).trim(count, access);
}

/// A level looks whether it has to trim itself.
void TierStack::on_event(EventPayload payload) {
  const std::size_t level = std::size_t{payload.subject} - 1;
  const TrimRule& rule = level == kFirst ? first_trim_ : levels_[level]->rules().trim;
  const Access access{queue_.now(), RequestId{}};
  trim_due_[level + 1] = 0;
  trim_now(level, rule, access);
  trim(level, rule, access);  // what is in use now may leave the next time
  const bool waits =
      std::any_of(waiting_.begin(), waiting_.end(), [](const auto& q) { return !q.empty(); });
  if (waits || any_ended_) on_room();  // the next step takes note
}

// ---- writes
// --------------------------------------------------------------------------------------

std::uint32_t TierStack::make_job(std::uint32_t level, Kind kind, RequestId request) {
  const std::uint32_t job = jobs_.take();
  jobs_[job].level = level;
  jobs_[job].kind = kind;
  jobs_[job].request = request;
  jobs_[job].slots.clear();
  jobs_[job].below.clear();
  jobs_[job].chunks.clear();
  return job;
}

void TierStack::cascade(SlotSpan slots, const Access& access) {
  for (std::uint32_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i]->rules().write != WriteRule::kThrough) continue;
    first_.begin_read(slots);
    const std::uint32_t job = make_job(i, Kind::kWrite, access.request);
    jobs_[job].slots.assign(slots.begin(), slots.end());
    begin_or_wait(job, access);
  }
  trim(kFirst, first_trim_, access);
}

/// The job's sources are pinned; what the level lacks of them is written, now or later.
void TierStack::begin_or_wait(std::uint32_t job, const Access& access) {
  const std::uint32_t number = jobs_[job].level;
  LevelCounters& c = levels_[number]->counters;
  ++c.cascades;
  if (jobs_[job].kind == Kind::kWrite) {
    for (const SlotId slot : jobs_[job].slots) pinned_slots_ += pins_[raw(slot)]++ == 0 ? 1 : 0;
    peak_pinned_slots_ = std::max(peak_pinned_slots_, pinned_slots_);
    c.pinned += static_cast<std::uint32_t>(jobs_[job].slots.size());
    c.peak_pinned = std::max(c.peak_pinned, c.pinned);
  }
  choose_chunks(job, access);
  if (waiting_[number].empty() && begin_write(job, access)) return;
  if (levels_[number]->rules().full == FullRule::kWait) return waiting_[number].push_back(job);
  c.no_room += jobs_[job].chunks.size();
  let_sources_go(job, access);
  jobs_.release(job);
}

/// Those that the level lacks and admits, and no more than it can ever hold.
void TierStack::choose_chunks(std::uint32_t number, const Access& access) {
  Job& job = jobs_[number];
  Level& level = *levels_[job.level];
  const std::size_t from = source_of(job);
  for (const SlotId slot : job.slots) job.chunks.push_back(name_at(job.level, from, slot));
  drop_present(job);
  level.admit(job.chunks, access.now, writes_under_way_[job.level]);
  if (job.chunks.size() <= level.store().capacity()) return;
  level.counters.no_room += job.chunks.size() - level.store().capacity();
  job.chunks.resize(level.store().capacity());
}

/// A chunk that is there, or on its way there, is not written again.
void TierStack::drop_present(Job& job) {
  const BlockStore& store = levels_[job.level]->store();
  std::erase_if(job.chunks, [&](BlockId chunk) { return store.place(chunk).here(); });
}

/// False where the level has no room.
bool TierStack::begin_write(std::uint32_t number, const Access& access) {
  const std::uint32_t to = jobs_[number].level;
  if (!make_room_at(to, jobs_[number].chunks, {}, access)) {
    if (levels_[to]->shared()) levels_[to]->store().await_room(*this);
    return false;
  }
  Job& job = jobs_[number];  // room may have taken further jobs
  Level& level = *levels_[to];
  level.store().begin_write(job.chunks, job.below);
  if (job.chunks.empty()) {
    if (job.kind == Kind::kMove) job.kind = Kind::kMoveWrite;
    level.end_at_once(number);
    any_ended_ = true;
    return true;
  }
  ++writes_under_way_[to];
  if (job.kind == Kind::kMove) {
    levels_[to - 1]->submit(StorageOp::kRead, number, bytes_of(job));
  } else {
    level.submit(StorageOp::kWrite, number, bytes_of(job));
  }
  return true;
}

void TierStack::retry_waiting(Time now) {
  for (RingQueue<std::uint32_t>& queue : waiting_) {
    while (!queue.empty()) {
      const std::uint32_t job = queue.front();
      drop_present(jobs_[job]);
      if (!begin_write(job, {now, jobs_[job].request})) break;
      queue.pop_front();
    }
  }
}

void TierStack::on_store_refused(std::size_t chunks) {
  const std::size_t room = first_.room() + first_.evictable();
  if (pinned_slots_ > 0 && chunks <= room + pinned_slots_) ++stores_refused_;
}

// ---- ends
// ----------------------------------------------------------------------------------------

void TierStack::end_job(std::uint32_t number, Time now) {
  Job& job = jobs_[number];
  const Access access{now, job.request};
  if (job.kind == Kind::kMove) {
    job.kind = Kind::kMoveWrite;
    levels_[job.level]->submit(StorageOp::kWrite, number, bytes_of(job));
    return;
  }
  if (job.kind == Kind::kPromotion) {
    end_promotion(number, access);
  } else {
    end_write(number, access);
  }
  jobs_.release(number);
}

/// What an exclusive level gave away goes where the rules of the others put what is new.
void TierStack::end_promotion(std::uint32_t number, const Access& access) {
  const std::uint32_t from = jobs_[number].level;
  Level& level = *levels_[from];
  first_.end_write(jobs_[number].slots, access);
  promoting_[from] -= static_cast<std::uint32_t>(jobs_[number].slots.size());
  level.store().end_read(jobs_[number].below, access);
  if (level.rules().inclusion == Inclusion::kInclusive) return trim(kFirst, first_trim_, access);
  ended_slots_ = jobs_[number].slots;
  cascade(ended_slots_, access);
}

/// The tail of a chain is the oldest.
void TierStack::end_write(std::uint32_t number, const Access& access) {
  Job& job = jobs_[number];
  Level& level = *levels_[job.level];
  if (!job.below.empty()) --writes_under_way_[job.level];
  std::reverse(job.below.begin(), job.below.end());
  level.store().end_write(job.below, access);
  let_sources_go(number, access);
  trim(jobs_[number].level, level.rules().trim, access);
}

void TierStack::let_sources_go(std::uint32_t number, const Access& access) {
  Job& job = jobs_[number];
  const std::size_t from = source_of(job);
  if (from == kFirst) {
    for (const SlotId slot : job.slots) pinned_slots_ -= --pins_[raw(slot)] == 0 ? 1 : 0;
    levels_[job.level]->counters.pinned -= static_cast<std::uint32_t>(job.slots.size());
  }
  store_at(from).end_read(job.slots, access);
}

// ---- steps
// ---------------------------------------------------------------------------------------

void TierStack::begin_step(Time now) {
  if (begun_) return;
  begun_ = true;
  for (const auto& level : levels_) level->store().expire(now);
  if (!any_ended_) return;
  any_ended_ = false;
  for (const auto& level : levels_) {
    std::swap(ended_, level->ended());
    for (const std::uint32_t job : ended_) end_job(job, now);
    ended_.clear();
    if (level->see_answers()) ++version_;
  }
  retry_waiting(now);
}

void TierStack::end_step(Time now) {
  begin_step(now);
  begun_ = false;
  // A refusal is met, and counted, at every step: the same look-up must run again.
  if (refused_in_step_) ++version_;
  refused_in_step_ = false;
  for (std::uint32_t i = 0; i < levels_.size(); ++i) {
    Level& level = *levels_[i];
    for (const std::uint32_t job : to_submit_[i]) {
      ++level.counters.promotions;
      tell(job, LoadEvent::kSubmitted);
      const auto chunks = static_cast<std::int64_t>(jobs_[job].slots.size());
      level.submit(StorageOp::kRead, job, chunk_bytes_ * chunks);
    }
    to_submit_[i].clear();
    if (level.submit_questions(now)) any_ended_ = true;
  }
}

void TierStack::tell(std::uint32_t job, LoadEvent event) {
  waiter_.on_promotion(jobs_[job].handle, jobs_[job].request, event);
}

void TierStack::on_level_read(std::uint32_t job, bool begins) {
  if (jobs_[job].kind != Kind::kPromotion) return;
  tell(job, begins ? LoadEvent::kServed : LoadEvent::kPaused);
}

void TierStack::on_level_progress(std::uint32_t job) {
  if (job != Level::kNoJob && jobs_[job].kind == Kind::kPromotion) tell(job, LoadEvent::kEnded);
  any_ended_ = true;
  waiter_.on_transfer_progress();
}

/// Another engine that shares a store has left some.
void TierStack::on_room() {
  any_ended_ = true;
  waiter_.on_transfer_progress();
}

}  // namespace spillway
