#include "models/engine/schedulers/sglang_scheduler.hpp"

#include <algorithm>

#include "sim/error.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

// new_token_ratio_tracker.py, and the environment's defaults (environ.py).
constexpr std::int64_t kFirstRatio = 700'000'000;
constexpr std::int64_t kLeastRatioPercent = 14;
constexpr std::int64_t kDecaySteps = 600;
constexpr std::int64_t kRetractTokens = 20;
// schedule_policy.py
constexpr std::int64_t kMostEstimated = 4096;
// Shorter prompts than the limit by this much are refused (managers/utils.py).
constexpr std::int64_t kLimitMargin = 5;

}  // namespace

SglangScheduler::SglangScheduler(const Environment& environment)
    : config_(environment.config),
      rules_(config_.sglang),
      env_(environment),
      requests_(environment.requests),
      tree_(environment.tree) {
  first_ratio_ = std::min(kNano, kFirstRatio * rules_.conservativeness / kNano);
  least_ratio_ = first_ratio_ * kLeastRatioPercent / 100;
  ratio_ = first_ratio_;
  most_running_ = static_cast<std::uint32_t>(
      std::min<std::int64_t>(rules_.max_running_requests, pool_tokens() / 2));
  draws_ = Stream(rules_.seed, "schedule policy").bits();
}

std::int64_t SglangScheduler::paged(std::int64_t tokens) const {
  const std::int64_t p = page();
  return (tokens + p - 1) / p * p;
}

// ---- requests that come and go
// -------------------------------------------------------------------

std::uint64_t SglangScheduler::blocks_of(const ActiveRequest& r) const {
  return pages_of(r.prompt + r.output);
}

/// A request is shorter than the context, and than the pool.
std::int64_t SglangScheduler::limit() const {
  const std::int64_t context = rules_.context_length;
  return (context > 0 ? std::min(pool_tokens(), context) : pool_tokens()) - 1;
}

/// Tokens that it may generate at most.
std::int64_t SglangScheduler::bound(const ActiveRequest& r) const {
  return std::min(limit() - r.prompt - 1, pool_tokens() - paged(r.prompt) - page() - 1);
}

/// Upstream generates less then. Model: who asks for more than can be is told so.
Reason SglangScheduler::refuses(const ActiveRequest& r) const {
  const bool fits = r.prompt < limit() - kLimitMargin && r.output <= bound(r);
  return fits ? Reason::kNone : Reason::kTooLong;
}

void SglangScheduler::enqueue(Handle h) {
  const auto index = static_cast<std::size_t>(h);
  if (held_.size() <= index) held_.resize(index + 1);
  Held& d = held_[index];
  const ActiveRequest& r = requests_[h];
  d.chain.clear();
  const auto add = [&](std::uint32_t first, std::uint32_t count) {
    if (!d.chain.empty() && d.chain.back().first + d.chain.back().count == first) {
      d.chain.back().count += count;
    } else {
      d.chain.push_back({first, count});
    }
    return true;
  };
  const std::uint32_t pages = (r.prompt + r.output) / page();
  if (pages > 0) env_.chains.for_runs(r.id, 0, pages, add);
  d.max_new = static_cast<std::uint32_t>(
      std::min<std::int64_t>(std::max(rules_.max_new_tokens, r.output), bound(r)));
  d.kv = d.locked = d.fill = 0;
  d.node = RadixTree::kRoot;
  d.inserts = false;
  join(h);
}

/// It waits, and what storage has of it is read ahead (_prefetch_kvcache).
void SglangScheduler::join(Handle h) {
  waiting_.push_back(h);
  HicacheStorage* const storage = env_.cache.storage();
  if (storage == nullptr) return;
  const std::uint32_t known = requests_[h].tokens();
  const PageChain chain = held(h).chain;
  storage->prefetch(h, chain, known, tree_.match(chain, (known - 1) / page()));
}

void SglangScheduler::withdraw(Handle h) {
  const bool there = waiting_.erase_item(h);
  KV_ASSERT(there, "request {} is not in the queue", raw(requests_[h].id));
  if (HicacheStorage* const storage = env_.cache.storage()) storage->stop(h, held(h).chain);
}

/// The leading tokens are computed: their full pages enter the tree, where others may have been
/// faster, and the request holds them there.
void SglangScheduler::insert(Handle h, std::uint32_t tokens, bool counts) {
  const std::uint32_t pages = tokens / page();
  if (pages == 0) return;
  Held& d = held(h);
  const std::uint32_t taken = tree_.insert(d.chain, pages, counts);
  tree_.give(pages - d.locked - taken);
  const RadixTree::Match match = tree_.match(d.chain, pages);
  KV_ASSERT(match.device_pages == pages, "request {}: {} of {} pages that it inserted",
            raw(requests_[h].id), match.device_pages, pages);
  tree_.lock(match.device);
  tree_.unlock(d.node);
  d.node = match.device;
  d.locked = pages;
}

void SglangScheduler::collect(ActiveRequest& r) {
  ++r.generated;
  Held& d = held(r.handle);
  const bool ended = std::exchange(d.inserts, false);
  if (ended && r.generated < r.output) insert(r.handle, d.fill, true);
}

bool SglangScheduler::finish(Handle h, Time /*now*/) {
  ActiveRequest& r = requests_[h];
  Held& d = held(h);
  const std::uint32_t pages = std::min(r.tokens(), d.kv) / page();
  const std::uint32_t taken = pages > 0 ? tree_.insert(d.chain, pages, true) : 0;
  tree_.give(pages_of(d.kv) - d.locked - taken);
  tree_.unlock(d.node);
  for (Seat& seat : running_) {
    if (seat.request == h) seat.left = left_of(seat);
  }
  d.locked = d.kv = 0;
  d.node = RadixTree::kRoot;
  ++d.turn;
  d.has_slot = false;
  --slots_;
  r.state = RequestState::kFinished;
  return true;
}

/// It loses its memory, and what is in flight of it does not count.
void SglangScheduler::give_up(Handle h) {
  Held& d = held(h);
  tree_.give(pages_of(d.kv) - d.locked);
  tree_.unlock(d.node);
  d.locked = d.kv = 0;
  d.node = RadixTree::kRoot;
  d.inserts = false;
  ++d.turn;
  d.has_slot = false;
  --slots_;
}

// ---- forming a batch
// -----------------------------------------------------------------------------

void SglangScheduler::schedule(Time now, StepPlan& plan) {
  plan.clear();
  const bool in_flight = formed_ != ended_;
  const bool beside_prefill = in_flight && batches_[ended_ % 2].prefill;
  env_.cache.begin_forming();
  first_scheduled_.clear();
  if (chunk_) insert(*chunk_, held(*chunk_).fill, false);
  merge_last();
  env_.cache.acknowledge();
  Batch& next = batch();
  next.seats.clear();
  next.prefill = form_prefill(now, plan);
  merges_ = next.prefill;
  const bool formed = next.prefill || (!plan.fatal && form_decode(now, plan));
  if (formed) ++formed_;
  env_.cache.count_pass(formed);
  const bool idle = !in_flight && env_.cache.idle() && running_.empty() && waiting_.empty();
  if (!formed && idle) ratio_ = first_ratio_;
  env_.cache.end_forming(beside_prefill && !plan.fatal);  // nothing ends for it any more
}

/// Those whose prompts the last batch computed run from now on.
void SglangScheduler::merge_last() {
  if (!merges_) return;
  const Batch& last = batches_[(formed_ - 1) % 2];
  const std::size_t before = running_.size();
  for (const Seat& seat : last.seats) {
    if (lives(seat) && last.chunk != seat.request) running_.push_back(seat);
  }
  const std::size_t added = running_.size() - before;
  if (added < last.seats.size() || (added > 0 && before == 0)) full_ = false;
}

std::uint32_t SglangScheduler::left_of(const Seat& seat) const {
  if (!lives(seat)) return seat.left;
  const std::int64_t left =
      std::int64_t{held(seat.request).max_new} - requests_[seat.request].generated;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 0, kMostEstimated));
}

/// What is free or could be, less what is reserved.
std::int64_t SglangScheduler::rest_nano(const Budget& budget) const {
  const std::uint64_t pages = tree_.free_pages() + tree_.evictable_pages();
  return static_cast<std::int64_t>(pages * page()) * kNano - budget.reserved_nano;
}

void SglangScheduler::charge(Budget& budget, std::int64_t tokens, std::int64_t more) const {
  const std::int64_t whole = paged(tokens);
  budget.reserved_nano += (whole + more + page()) * kNano;
  budget.taken += whole + page();
  budget.input -= whole;
  budget.chunk -= whole;
}

bool SglangScheduler::form_prefill(Time now, StepPlan& plan) {
  batch().chunk.reset();
  if (!chunk_ && (full_ || waiting_.empty())) {
    plan.starved = full_ && short_ && !waiting_.empty();
    return false;
  }
  const std::int64_t left =
      std::min(std::int64_t{most_running_} - static_cast<std::int64_t>(running_.size()),
               std::int64_t{most_running_} - slots_);
  if (left <= 0 && !chunk_) {
    full_ = true;
    short_ = false;
    return false;
  }
  sort_queue();

  Budget budget;
  std::int64_t estimated = 0;
  for (const Seat& seat : running_) estimated += left_of(seat);
  budget.reserved_nano = ratio_ * estimated;
  budget.input = rules_.max_prefill_tokens;
  budget.chunk = rules_.chunked_prefill_size;
  if (mixes()) {
    const auto decodes = static_cast<std::int64_t>(running_.size());
    budget.reserved_nano += decodes * kNano;
    budget.taken = decodes;
    budget.input -= decodes;
    // Model: a page at least. Upstream would give the prompt that goes on less than nothing.
    budget.chunk = std::max<std::int64_t>(budget.chunk - decodes, page());
  }
  if (chunk_) go_on_with_chunk(budget, now, plan);
  HicacheStorage* const storage = env_.cache.storage();
  for (std::size_t passed = 0; passed < waiting_.size();) {
    if (static_cast<std::int64_t>(plan.items.size()) >= left) {
      full_ = true;
      short_ = false;
    }
    if (full_) break;
    const Handle h = waiting_[passed];
    if (storage != nullptr && !storage->admits(h, held(h).chain)) {
      ++passed;
      continue;
    }
    const std::size_t before = plan.items.size();
    const Verdict verdict = admit(h, budget, now, plan);
    if (plan.items.size() > before) passed == 0 ? waiting_.pop_front() : waiting_.erase(passed);
    if (verdict == Verdict::kNoToken) {
      plan.starved = short_ = true;
      full_ = env_.cache.tiers() == 0 || !plan.items.empty() || !running_.empty();
    }
    if (verdict != Verdict::kGoOn) break;
  }
  if (plan.items.empty()) return false;
  batch().chunk = chunk_;
  env_.cache.start_loads();
  const std::int64_t spare =
      page() > 1 ? std::int64_t{page()} * std::int64_t(plan.items.size()) : 0;
  tree_.make_room(static_cast<std::uint64_t>(budget.tokens + spare));
  if (tree_.free_pages() < static_cast<std::uint64_t>(budget.pages)) return die(plan);
  tree_.take(static_cast<std::uint64_t>(budget.pages));
  if (!mixes() || running_.empty()) return true;
  std::erase_if(running_, [&](const Seat& seat) { return !lives(seat); });
  if (!decode_running(plan)) return die(plan);
  running_.clear();  // they are back when this batch is merged
  return true;
}

/// Memory that was there is not: the process ends. The batch was none.
bool SglangScheduler::die(StepPlan& plan) {
  for (const Handle h : first_scheduled_) {
    requests_[h].scheduled = kNever;
    requests_[h].cached_tokens = {};
  }
  plan.fatal = dead_ = true;
  return false;
}

void SglangScheduler::go_on_with_chunk(Budget& budget, Time now, StepPlan& plan) {
  const Handle h = *chunk_;
  const std::int64_t rest = std::int64_t{requests_[h].tokens()} - held(h).kv;
  std::int64_t most = std::min(budget.chunk, rest_nano(budget) / kNano);
  if (most <= 0) most = budget.chunk;
  const std::int64_t tokens = std::min(rest, most);
  const bool ends = tokens == rest;
  charge(budget, tokens, ends ? std::min<std::int64_t>(held(h).max_new, kMostEstimated) : 0);
  add(h, static_cast<std::uint32_t>(tokens), ends, budget, now, plan);
  if (ends) chunk_.reset();
}

SglangScheduler::Verdict SglangScheduler::admit(Handle h, Budget& budget, Time now,
                                                StepPlan& plan) {
  ActiveRequest& r = requests_[h];
  Held& d = held(h);
  const std::int64_t known = r.tokens();
  const RadixTree::Match match =
      tree_.match(d.chain, static_cast<std::uint32_t>((known - 1) / page()));
  ++plan.lookups;
  const auto estimate = [&](std::int64_t tokens) { return std::min(tokens, kMostEstimated); };
  const std::int64_t device = std::int64_t{match.device_pages} * page();
  const std::int64_t need =
      known - device + estimate(std::int64_t{d.max_new} - r.generated) + page();
  if (need * kNano >= rest_nano(budget)) return Verdict::kNoToken;
  const std::int64_t host = std::int64_t{match.host_pages} * page();
  const bool too_much = !chunked() && !plan.items.empty();
  if (too_much && paged(known - device - host) >= budget.input) return Verdict::kStop;

  tree_.lock(match.device);
  const auto leave = [&](Verdict verdict) {
    tree_.unlock(match.device);
    return verdict;
  };
  if (need * kNano >= rest_nano(budget)) return leave(Verdict::kNoToken);
  const bool loads = match.host_pages > 0 && tree_.load_back(match);
  if (loads) env_.cache.add_load(match.last, match.host_pages);
  const std::int64_t prefix = device + (loads ? host : 0);
  const std::int64_t rest = known - prefix;
  if (too_much && paged(rest) >= budget.input) return leave(Verdict::kStop);
  const bool ends = !chunked() || paged(rest) <= budget.chunk;
  const std::int64_t tokens = ends ? rest : budget.chunk / page() * page();
  if (tokens <= 0) return leave(Verdict::kStop);

  d.node = loads ? match.last : match.device;
  d.locked = match.device_pages + (loads ? match.host_pages : 0);
  d.kv = static_cast<std::uint32_t>(prefix);
  tree_.lock(d.node);
  d.has_slot = true;
  ++slots_;
  count_admission(r, match, loads ? match.host_pages : 0);
  charge(budget, tokens, ends ? estimate(d.max_new) : 0);
  add(h, static_cast<std::uint32_t>(tokens), ends, budget, now, plan);
  if (!ends) chunk_ = h;
  tree_.unlock(match.device);
  const std::int64_t room =
      static_cast<std::int64_t>((tree_.free_pages() + tree_.evictable_pages()) * page());
  if (rest_nano(budget) <= 0 || room - budget.taken <= 0) return Verdict::kNoToken;
  const bool spent = budget.input <= 0 || (chunked() && budget.chunk <= 0);
  return spent ? Verdict::kStop : Verdict::kGoOn;
}

void SglangScheduler::count_admission(ActiveRequest& r, const RadixTree::Match& match,
                                      std::uint32_t loaded) {
  OffloadCounters& below = env_.cache.counts();
  HicacheStorage* const storage = env_.cache.storage();
  PageStorage::ByTier from{};
  if (storage != nullptr) from = storage->take_fetched(r.handle, loaded);
  const std::uint32_t fetched = from[0] + from[1];
  if (r.admitted_before) {
    counters_.hits_resumed += match.device_pages;
    below.hits_resumed += loaded;
    return;
  }
  const std::uint32_t asked = (r.prompt - 1) / page();
  counters_.queries += asked;
  counters_.hits += match.device_pages;
  below.queries += asked - match.device_pages;
  below.hits += loaded - fetched;
  if (storage != nullptr) {
    storage->pages().count(asked - match.device_pages - (loaded - fetched), from);
    for (std::size_t i = 0; i < from.size(); ++i) r.cached_tokens[2 + i] = from[i] * page();
  }
  r.cached_tokens[0] = match.device_pages * page();
  r.cached_tokens[1] = (loaded - fetched) * page();
  r.admitted_before = true;
}

void SglangScheduler::add(Handle h, std::uint32_t tokens, bool ends, Budget& budget, Time now,
                          StepPlan& plan) {
  ActiveRequest& r = requests_[h];
  Held& d = held(h);
  plan.items.push_back({h, tokens, d.kv, ends});
  batch().seats.push_back({h, d.turn});
  budget.tokens += tokens;
  budget.pages += pages_of(d.kv + tokens) - pages_of(d.kv);
  d.kv += tokens;
  d.fill = d.kv;
  d.inserts = ends;
  r.state = RequestState::kRunning;
  if (r.scheduled != kNever) return;
  r.scheduled = now;
  first_scheduled_.push_back(h);
}

/// It had to wait for evictions.
void SglangScheduler::on_formed(Time now) {
  for (const Handle h : first_scheduled_) requests_[h].scheduled = now;
}

void SglangScheduler::apply(StepPlan& plan) {
  for (const ScheduledTokens& item : plan.items) {
    requests_[item.request].computed = item.computed + item.tokens;
  }
}

void SglangScheduler::on_step_end(StepPlan& plan, Time /*now*/) {
  const Batch& ended = batches_[ended_++ % 2];
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (!lives(ended.seats[i])) plan.items[i].samples = false;
  }
}

// ---- decodes
// -------------------------------------------------------------------------------------

/// Of new pages.
std::uint64_t SglangScheduler::tokens_to_decode(const std::vector<Seat>& seats) const {
  std::uint64_t pages = 0;
  for (const Seat& seat : seats) pages += held(seat.request).kv % page() == 0 ? 1 : 0;
  return pages * page();
}

bool SglangScheduler::form_decode(Time now, StepPlan& plan) {
  const std::size_t before = running_.size();
  std::erase_if(running_, [&](const Seat& seat) { return !lives(seat); });
  if (running_.empty()) {
    full_ = false;
    return false;
  }
  if (tree_.make_room(tokens_to_decode(running_))) {
    ratio_ = std::max(ratio_ - (first_ratio_ - least_ratio_) / kDecaySteps, least_ratio_);
  } else {
    retract(now, plan);
  }
  if (running_.size() < before) full_ = false;
  if (running_.empty()) return false;
  const bool room = decode_running(plan);
  KV_ASSERT(room, "{} decodes that fitted do not", running_.size());
  return true;
}

/// All that run join the batch; false where their pages are not there.
bool SglangScheduler::decode_running(StepPlan& plan) {
  tree_.make_room(running_.size() * page());
  const std::uint64_t pages = tokens_to_decode(running_) / page();
  if (tree_.free_pages() < pages) return false;
  tree_.take(pages);
  for (const Seat& seat : running_) {
    Held& d = held(seat.request);
    plan.items.push_back({seat.request, 1, d.kv++, true});
    batch().seats.push_back(seat);
  }
  return true;
}

/// Those with the shortest answers go, of equal ones those with the longest prompts.
void SglangScheduler::retract(Time now, StepPlan& plan) {
  plan.starved = true;
  std::stable_sort(running_.begin(), running_.end(), [&](const Seat& a, const Seat& b) {
    const ActiveRequest& x = requests_[a.request];
    const ActiveRequest& y = requests_[b.request];
    return x.generated != y.generated ? x.generated > y.generated : x.prompt < y.prompt;
  });
  bool first = true;
  while (running_.size() > 1 && (first || !tree_.make_room(tokens_to_decode(running_)))) {
    first = false;
    const Handle h = running_.back().request;
    running_.pop_back();
    give_up(h);
    tree_.make_room(static_cast<std::uint64_t>(kRetractTokens) * running_.size());
    ActiveRequest& r = requests_[h];
    r.computed_peak = std::max(r.computed_peak, r.computed);
    r.computed = 0;
    r.state = RequestState::kPreempted;
    ++r.preemptions;
    r.clock.preempt(now);
    plan.preempted.push_back(h);
    env_.observer.on_preemption(now, r.id);
  }
  if (running_.size() == 1 && !tree_.make_room(tokens_to_decode(running_))) {
    const Handle h = running_.back().request;
    running_.pop_back();
    give_up(h);
    plan.refused.push_back({h, Reason::kOutOfMemory});
  }
  std::int64_t generated = 0;
  std::int64_t may = 0;
  for (const Seat& seat : running_) {
    generated += requests_[seat.request].generated;
    may += held(seat.request).max_new;
  }
  const auto count = static_cast<std::int64_t>(running_.size());
  ratio_ = std::min(kNano, (generated + kRetractTokens * count) * kNano / (may + 1));
  for (const Handle h : plan.preempted) join(h);
}

// ---- what others ask
// -----------------------------------------------------------------------------

TierLevel SglangScheduler::level(std::uint32_t) const {
  const RadixTree::Counters& c = tree_.counters();
  // What a process that has ended held is nobody's.
  const std::uint64_t taken = config_.num_gpu_blocks - tree_.free_pages() - tree_.evictable_pages();
  const std::uint64_t used = dead_ ? 0 : taken;
  return {c.inserted, c.evicted, static_cast<std::uint32_t>(tree_.device_pages()),
          static_cast<std::uint32_t>(used)};
}

void SglangScheduler::check_drained() const {
  if (dead_) return;
  KV_ASSERT(slots_ == 0, "{} requests have not ended", slots_);
  tree_.check_drained();
}

std::vector<Handle> SglangScheduler::queued() const {
  std::vector<Handle> out;
  for (std::size_t i = 0; i < waiting_.size(); ++i) out.push_back(waiting_[i]);
  return out;
}

std::vector<Handle> SglangScheduler::served() const {
  std::vector<Handle> out;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].has_slot) out.push_back(static_cast<Handle>(i));
  }
  return out;
}

std::vector<Handle> SglangScheduler::abandon() {
  std::vector<Handle> out = served();
  const std::vector<Handle> rest = queued();
  out.insert(out.end(), rest.begin(), rest.end());
  for (Held& d : held_) d.has_slot = false;
  while (!waiting_.empty()) waiting_.pop_front();
  running_.clear();
  slots_ = 0;
  return out;
}

}  // namespace spillway
