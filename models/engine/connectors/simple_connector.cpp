#include "models/engine/connectors/simple_connector.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

/// Slots, the null block's among them, that can ever be used: two copies of a block are rare, more
/// copies than HBM has slots for do not occur at once.
std::uint32_t slots_for(std::uint64_t capacity, const LocalChains& chains, const OffloadConfig& c) {
  const std::uint64_t useful = 2 * std::uint64_t{chains.most_blocks()} + c.num_gpu_blocks;
  return static_cast<std::uint32_t>(std::min(capacity, useful) + 1);
}

EvictionContext context_of(const LocalChains& chains, const OffloadConfig& config) {
  EvictionContext context;
  context.blocks = chains.block_count();
  context.block_tokens = config.block_tokens;
  return context;
}

}  // namespace

SimpleConnector::SimpleConnector(const Environment& environment, std::uint64_t capacity_blocks)
    : KvConnector(environment.config, environment.waiter),
      env_(environment),
      cpu_(slots_for(capacity_blocks, environment.chains, environment.config), EvictionChoice(),
           context_of(environment.chains, environment.config), true,
           environment.chains.most_blocks()),
      lazy_target_(
          2 * ((environment.config.max_num_batched_tokens + environment.config.block_tokens - 1) /
               environment.config.block_tokens)),
      storing_(environment.config.num_gpu_blocks) {
  KV_ASSERT(!env_.config.lazy_offload || env_.pool.policy().tells_order(),
            "a lazy offload needs the order in which HBM's blocks leave");
}

// ---- look-up
// -------------------------------------------------------------------------------------

KvConnector::Lookup SimpleConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                             const Access& access) {
  unpin(r.id, access);
  scratch_.clear();
  const std::uint32_t limit = (r.tokens() - 1) / env_.config.block_tokens;
  if (limit <= local) return {true, 0};
  env_.chains.for_runs(r.id, local, limit, [&](std::uint32_t first, std::uint32_t count) {
    const BlockPlace* block = cpu_.places(first);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!block[i].here()) return false;
      scratch_.push_back(block[i].slot());
    }
    return true;
  });
  if (scratch_.empty()) return {true, 0};
  cpu_.share(scratch_);
  if (pinned_ == pins_.size()) pins_.emplace_back();
  Pin& pin = pins_[pinned_++];
  pin.request = r.id;
  pin.slots.assign(scratch_.begin(), scratch_.end());
  return {true, static_cast<std::uint32_t>(pin.slots.size())};
}

SimpleConnector::Pin* SimpleConnector::find_pin(RequestId request) {
  for (std::size_t i = 0; i < pinned_; ++i) {
    if (pins_[i].request == request) return &pins_[i];
  }
  return nullptr;
}

/// Forgets the pin; its slots are no longer this list's to release.
void SimpleConnector::drop_pin(Pin& pin) {
  std::swap(pin, pins_[--pinned_]);
}

void SimpleConnector::unpin(RequestId request, const Access& access) {
  Pin* pin = find_pin(request);
  if (pin == nullptr) return;
  release_in_order(cpu_, pin->slots, access);
  drop_pin(*pin);
}

void SimpleConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                      std::uint32_t external) {
  if (external == 0) unpin(r.id, {r.scheduled, r.id});  // what could be loaded is computed instead
  if (r.preemptions > 0) {
    counters_.hits_resumed += external;
    return;
  }
  counters_.queries += r.tokens() / env_.config.block_tokens - local;
  counters_.hits += external;
}

// ---- planning
// ------------------------------------------------------------------------------------

std::uint32_t SimpleConnector::open_job(std::uint32_t& job) {
  if (job != kNoJob) return job;
  job = jobs_.make(Handle{});
  if (parts_.size() <= job) parts_.resize(job + 1);
  parts_[job].clear();
  under_way_.push_back(job);
  return job;
}

void SimpleConnector::plan_load(Handle h, std::uint32_t, std::uint32_t blocks) {
  ActiveRequest& r = env_.requests[h];
  Pin* pin = find_pin(r.id);
  KV_ASSERT(pin != nullptr && pin->slots.size() == blocks, "a load of blocks that are not pinned");
  if (load_job_ == kNoJob) {
    jobs_.plan_load(open_job(load_job_));
    ++counters_.load_jobs;
  }
  TransferJob& job = jobs_[load_job_];
  job.below.insert(job.below.end(), pin->slots.begin(), pin->slots.end());
  job.blocks += blocks;
  parts_[load_job_].push_back({h, r.id, blocks});
  drop_pin(*pin);
  r.loads = 1;
  r.load_done = false;
}

void SimpleConnector::plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) {
  jobs_.begin_plan(transfers);
  if (!plan.preempted.empty()) {
    for (const std::uint32_t job : under_way_) {
      if (job != load_job_) jobs_.fence(job);
    }
  }
  for (const Handle h : plan.preempted) scan_of(h).next = 0;
  if (!env_.config.lazy_offload) {
    store_computed(plan, now);
  } else if (!plan.items.empty()) {
    store_next_victims(now);
  }
  load_job_ = kNoJob;
  store_job_ = kNoJob;
  jobs_.end_plan();
  if (transfers.fences_pending > 0) ++counters_.flushes;
}

SimpleConnector::Scan& SimpleConnector::scan_of(Handle h) {
  const auto index = static_cast<std::size_t>(h);
  if (scans_.size() <= index) scans_.resize(index + 1);
  return scans_[index];
}

/// Eager: requests that run for the first time come before those that ran
/// (vllm/distributed/kv_transfer/kv_connector/utils.py, yield_req_data).
void SimpleConnector::store_computed(const StepPlan& plan, Time now) {
  for (const ScheduledTokens& item : plan.items) {
    if (!scan_of(item.request).started) scan(item, now);
  }
  for (const ScheduledTokens& item : plan.items) {
    if (scan_of(item.request).started) scan(item, now);
  }
  for (const ScheduledTokens& item : plan.items) scan_of(item.request).started = true;
}

/// Stores what earlier steps filled of the request and neither pool below nor a job has.
void SimpleConnector::scan(const ScheduledTokens& item, Time now) {
  const ActiveRequest& r = env_.requests[item.request];
  Scan& scan = scan_of(item.request);
  const std::uint32_t ready = (item.computed - r.placeholders) / env_.config.block_tokens;
  const std::uint32_t room = cpu_.free();
  fresh_.clear();
  for (; scan.next < ready; ++scan.next) {
    const SlotId slot = r.slots[scan.next];
    const BlockId block = env_.pool.block_in(slot);
    if (block == kNoBlock || storing_[raw(slot)] != 0 || cached_below(block)) continue;
    if (fresh_.size() == room) {
      ++counters_.store_failures;
      break;
    }
    fresh_.push_back(slot);
  }
  const auto blocks = static_cast<std::uint32_t>(fresh_.size());
  if (blocks > 0) store(fresh_, {item.request, r.id, blocks}, {now, r.id});
}

/// Lazy: the walk over the slots that HBM hands out next.
void SimpleConnector::store_next_victims(Time now) {
  if (cursor_ != kNoSlot && env_.pool.in_use(cursor_)) cursor_ = kNoSlot;
  const std::uint32_t room = cpu_.free();
  std::uint32_t covered = 0;
  fresh_.clear();
  env_.pool.walk_free(cursor_, [&](SlotId slot) {
    if (covered == lazy_target_ || fresh_.size() == room) return false;
    ++covered;
    cursor_ = slot;
    const BlockId block = env_.pool.block_in(slot);
    if (block != kNoBlock && !cached_below(block)) fresh_.push_back(slot);
    return true;
  });
  const auto blocks = static_cast<std::uint32_t>(fresh_.size());
  if (blocks > 0) store(fresh_, {Handle{}, RequestId{}, blocks}, {now, RequestId{}});
}

/// The HBM slots get a user more and a place below each, and join this step's job.
void SimpleConnector::store(SlotSpan slots, const Part& part, const Access& access) {
  if (store_job_ == kNoJob) {
    jobs_.plan_store(open_job(store_job_));
    ++counters_.store_jobs;
  }
  TransferJob& job = jobs_[store_job_];
  for (const SlotId slot : slots) {
    job.below.push_back(cpu_.take(access));
    job.hbm.push_back(slot);
    storing_[raw(slot)] = 1;
  }
  job.blocks += part.blocks;
  parts_[store_job_].push_back(part);
  env_.pool.share(slots);
}

void SimpleConnector::on_finished(Handle h, bool) {
  const ActiveRequest& r = env_.requests[h];
  KV_ASSERT(r.loads == 0, "a request finished while it loaded");
  unpin(r.id, {r.last_token, r.id});
  scan_of(h) = {};
  env_.requests.recycle(h);
}

// ---- completions
// ---------------------------------------------------------------------------------

void SimpleConnector::tell_clocks(std::uint32_t job, LoadEvent event, Time now) {
  for (const Part& part : parts_[job]) env_.requests[part.handle].clock.on_load(event, now);
}

void SimpleConnector::on_transfer_done(Direction direction, std::uint32_t job) {
  under_way_.erase(std::find(under_way_.begin(), under_way_.end(), job));
  KvConnector::on_transfer_done(direction, job);
}

bool SimpleConnector::poll(Time now) {
  auto& loads = jobs_.ended(Direction::kUp);
  auto& stores = jobs_.ended(Direction::kDown);
  const bool any = !stores.empty() || !loads.empty();
  for (; !loads.empty(); loads.pop_front()) complete_load(loads.front(), now);
  for (; !stores.empty(); stores.pop_front()) complete_store(stores.front(), now);
  return any;
}

/// The pool takes the last of a span as the first to leave; jobs are given back front first.
void SimpleConnector::release_in_order(KvPool& pool, SlotSpan slots, const Access& access) {
  scratch_.assign(slots.rbegin(), slots.rend());
  pool.release(scratch_, access);
}

void SimpleConnector::complete_load(std::uint32_t job, Time now) {
  SlotSpan below = jobs_[job].below;
  for (const Part& part : parts_[job]) {
    ActiveRequest& r = env_.requests[part.handle];
    r.loads = 0;
    r.load_done = r.state == RequestState::kLoading;
    release_in_order(cpu_, below.first(part.blocks), {now, part.request});
    below = below.subspan(part.blocks);
  }
  jobs_.release(job);
}

/// The copies become prefix cache below, and HBM's blocks lose the user that the copy was.
void SimpleConnector::complete_store(std::uint32_t job, Time now) {
  const TransferJob& done = jobs_[job];
  for (std::size_t i = 0; i < done.below.size(); ++i) {
    cpu_.register_block(done.below[i], env_.pool.block_in(done.hbm[i]));
    storing_[raw(done.hbm[i])] = 0;
  }
  release_in_order(cpu_, done.below, {now, RequestId{}});
  SlotSpan hbm = done.hbm;
  for (const Part& part : parts_[job]) {
    release_in_order(env_.pool, hbm.first(part.blocks), {now, part.request});
    hbm = hbm.subspan(part.blocks);
  }
  jobs_.release(job);
}

TierLevel SimpleConnector::level(std::uint32_t) const {
  return {cpu_.registered(), cpu_.evictions(), cpu_.cached(), cpu_.cached()};
}

void SimpleConnector::check_drained() const {
  KV_ASSERT(pinned_ == 0, "{} look-ups still hold blocks below", pinned_);
  KV_ASSERT(under_way_.empty(), "{} transfers have not ended", under_way_.size());
  cpu_.check_drained();
}

}  // namespace spillway
