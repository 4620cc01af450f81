#include "models/engine/connectors/grouped_connector.hpp"

#include <algorithm>

#include "models/engine/stores/grouped_blocks.hpp"
#include "sim/error.hpp"

namespace spillway {

GroupedConnector::GroupedConnector(const Environment& environment, FirstStore first,
                                   std::unique_ptr<TierStack> stack, std::uint32_t requests)
    : TierConnector(environment, std::move(first), std::move(stack)),
      groups_(environment.config.groups),
      count_(groups_.count()),
      window_(chunks_up_to(groups_.window)),
      hit_chunks_(requests, 0) {
  for (std::uint32_t g = groups_.sliding; g < count_; ++g) order_.push_back(g);
  for (std::uint32_t g = 0; g < groups_.sliding; ++g) order_.push_back(g);
}

// ---- look-up
// -------------------------------------------------------------------------------------

void GroupedConnector::name_chunks(const ActiveRequest& r) {
  names_.clear();
  const std::uint32_t k = per_chunk_;
  std::uint32_t at = 0;
  const std::uint32_t full = r.tokens() / chunk_tokens_ * k;
  for_runs(r.id, 0, full, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = k - 1 - at % k; i < count; i += k) names_.push_back(first + i);
    at += count;
    return true;
  });
}

LookupState GroupedConnector::state_at(std::uint32_t chunk, std::uint32_t group,
                                       const Asking& who) {
  const ChunkAt at{chunk * count_ + group, BlockId{names_[chunk] * count_ + group}};
  return state_of(page(chunk, group), at, who.r, who.access);
}

/// From the first block on, up to a miss.
GroupedConnector::Hits GroupedConnector::prefix_below(std::uint32_t group, std::uint32_t from,
                                                      std::uint32_t to, const Asking& who) {
  Hits out;
  for (std::uint32_t i = from; i < to; ++i) {
    const LookupState state = state_at(i, group, who);
    if (state == LookupState::kMiss) break;
    out.pending = out.pending || state == LookupState::kPending;
    ++out.chunks;
  }
  return out;
}

/// The end of the last run that covers a window, looked for from the back; else of the run that
/// begins the range.
GroupedConnector::Hits GroupedConnector::window_below(std::uint32_t group, std::uint32_t from,
                                                      std::uint32_t to, const Asking& who) {
  bool pending = false;
  std::uint32_t run = 0;
  for (std::uint32_t i = to; i-- > from;) {
    const LookupState state = state_at(i, group, who);
    pending = pending || state == LookupState::kPending;
    run = state == LookupState::kMiss ? 0 : run + 1;
    if (run == window_) return {i + run - from, pending};
  }
  return {run, pending};
}

/// Tokens from which the request could go on, had it loaded what lies below; those above alone
/// where that is less than a block. Nothing while a page is being written. Groups are asked in
/// turn, and again where a later one shortened what an earlier one had answered for. The last token
/// is computed in any case.
std::optional<std::uint32_t> GroupedConnector::reach(const Asking& who, std::uint32_t local) {
  const auto named = static_cast<std::uint32_t>(names_.size());
  const std::uint32_t above = local * env_.config.block_tokens;
  const std::uint32_t first = local / per_chunk_;
  std::uint32_t end = std::min(who.r.tokens() - 1, named * chunk_tokens_);
  std::uint32_t before = 0;
  bool deferred = false;
  const auto none = static_cast<std::uint32_t>(order_.size());
  for (std::uint32_t from = 0; from < none;) {
    std::uint32_t again = none;
    bool slid = false;
    for (std::uint32_t i = from; i < none; ++i) {
      if (end < above + chunk_tokens_) return above;
      const std::uint32_t group = order_[i];
      const std::uint32_t to = std::min(chunks_up_to(end), named);
      const Hits hits = sliding(group) ? window_below(group, first, to, who)
                                       : prefix_below(group, first, to, who);
      if (!hits.pending && hits.chunks == 0) return above;
      deferred = deferred || hits.pending;
      if (!hits.pending) end = std::min(end, (first + hits.chunks) * chunk_tokens_);
      if (end < above + chunk_tokens_) return above;
      if (end < before) {
        if (deferred) {
          deferred = false;
          again = 0;
        } else if (slid && again == none) {
          again = groups_.full;
        }
      }
      slid = slid || sliding(group);
      before = end;
    }
    from = again;
  }
  if (deferred || convoy(first, chunks_up_to(end))) return std::nullopt;
  return end;
}

/// Another request loads a page of what this one would load: of the chunks [from, to).
bool GroupedConnector::convoy(std::uint32_t from, std::uint32_t to) const {
  if (!env_.config.convoy || !env_.config.enable_prefix_caching) return false;
  for (std::uint32_t g = 0; g < count_; ++g) {
    const bool slides = sliding(g) && to > window_;
    for (std::uint32_t i = slides ? std::max(from, to - window_) : from; i < to; ++i) {
      const BlockPlace place = page(i, g);
      if (tier_->state(place) != LookupState::kReading) continue;
      if (!has_levels_ || stack_->loading(place.slot())) return true;
    }
  }
  return false;
}

GroupedConnector::Lookup GroupedConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                                   const Access& access) {
  if (has_levels_) stack_->begin_step(access.now);
  if (r.transfers_in_flight()) return {false, 0};
  name_chunks(r);
  const std::uint32_t block = env_.config.block_tokens;
  const std::optional<std::uint32_t> end = reach({r, access}, local);
  hit_chunks_[r.id] = end ? *end / chunk_tokens_ : local / per_chunk_;
  touch(r, access);
  if (!end) return {false, 0};
  return {true, (*end + block - 1) / block - local};
}

/// What a repetition of the request would look for, each group's head last (most recent).
void GroupedConnector::touch(const ActiveRequest& r, const Access& access) {
  touched_.clear();
  const auto named = static_cast<std::uint32_t>(names_.size());
  const std::uint32_t hit = hit_chunks_[r.id];
  for (std::uint32_t g = 0; g < count_; ++g) {
    const std::uint32_t from = sliding(g) && hit > window_ ? hit - window_ : 0;
    for (std::uint32_t i = named; i-- > from;) {
      if (page(i, g).idle()) touched_.push_back(page(i, g).slot());
    }
  }
  tier_->touch(touched_, access);
}

// ---- planning
// ------------------------------------------------------------------------------------

void GroupedConnector::plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) {
  ActiveRequest& r = env_.requests[h];
  const std::uint32_t job = jobs_.make(h);
  name_chunks(r);
  auto& below = jobs_[job].below;
  const std::uint32_t end = local + blocks;
  std::uint32_t copied = 0;
  for (std::uint32_t g = 0; g < count_; ++g) {
    for (std::uint32_t i = local; i < end;) {
      const std::uint32_t chunk = i / per_chunk_;
      std::uint32_t wanted = 0;
      for (; i < end && i / per_chunk_ == chunk; ++i) {
        wanted += r.slots[std::size_t{i} * count_ + g] == kNullSlot ? 0 : 1;
      }
      if (wanted == 0) continue;
      KV_ASSERT(page(chunk, g).here(), "a load of a page that is not there");
      below.push_back(page(chunk, g).slot());
      copied += wanted;
    }
  }
  jobs_[job].blocks = copied;
  start_load(r, job, end);
}

// ---- offers
// --------------------------------------------------------------------------------------

/// Where the blocks of a chunk are in HBM, into chunk_slots_. False where some are gone, or where
/// this step gave a finished request's to others.
bool GroupedConnector::collect_slots(const ActiveRequest& r, std::uint32_t chunk,
                                     std::uint32_t group, bool finished) {
  chunk_slots_.clear();
  for (std::uint32_t i = chunk * per_chunk_; i < (chunk + 1) * per_chunk_; ++i) {
    const SlotId slot = r.slots[std::size_t{i} * count_ + group];
    if (slot == kNullSlot) return false;
    if (finished && sliding(group) && env_.pool.given_this_step(slot)) return false;
    chunk_slots_.push_back(slot);
  }
  return true;
}

/// The pages of the chunks from next_store on, group by group.
void GroupedConnector::collect_offers(const ActiveRequest& r, std::uint32_t storable,
                                      bool finished) {
  offered_.clear();
  fresh_.clear();
  fresh_at_.clear();
  for (std::uint32_t g = 0; g < count_; ++g) {
    if (g == groups_.sliding) fresh_sliding_ = static_cast<std::uint32_t>(fresh_at_.size());
    for (std::uint32_t i = r.next_store / per_chunk_; i < storable; ++i) {
      if (!collect_slots(r, i, g, finished)) continue;
      if (page(i, g).here()) {
        offered_.push_back(page(i, g).slot());
      } else {
        fresh_.push_back(BlockId{names_[i] * count_ + g});
        fresh_at_.insert(fresh_at_.end(), chunk_slots_.begin(), chunk_slots_.end());
      }
    }
  }
  if (groups_.full == 0) fresh_sliding_ = static_cast<std::uint32_t>(fresh_at_.size());
}

void GroupedConnector::offer(Handle h, std::uint32_t tokens, const Access& access, bool finished) {
  ActiveRequest& r = env_.requests[h];
  const auto held = static_cast<std::uint32_t>(r.slots.size()) / count_;
  const std::uint32_t storable = std::min(tokens / chunk_tokens_, held / per_chunk_);
  if (storable <= r.next_store / per_chunk_) return;
  name_chunks(r);
  collect_offers(r, storable, finished);
  if (!fresh_.empty()) {
    if (!stack_->make_room(fresh_, offered_, access)) {
      ++counters_.store_failures;
      if (has_levels_) stack_->on_store_refused(fresh_.size());
      return;
    }
    make_job(h, finished);
    touch(r, access);
  }
  r.next_store = storable * per_chunk_;
}

/// A store of the pages in fresh_.
void GroupedConnector::make_job(Handle h, bool finished) {
  const std::uint32_t job = jobs_.make(h);
  begin_write(fresh_, jobs_[job].below);
  jobs_[job].hbm = fresh_at_;
  jobs_[job].blocks = static_cast<std::uint32_t>(fresh_at_.size());
  if (sliding_slots_.size() <= job) sliding_slots_.resize(job + 1);
  sliding_slots_[job] = fresh_sliding_;
  for (const SlotId slot : watched(job)) env_.pool.guard(slot);
  pending_.push_back(job);
  env_.requests[h].stores.push_back(job);
  jobs_.plan_store(job);
  ++counters_.store_jobs;
  if (!finished) return;
  bool given = false;
  for (const SlotId slot : unwatched(job)) {
    env_.pool.guard(slot);
    given = given || env_.pool.given_this_step(slot);
  }
  if (given) jobs_.fence(job);
}

void GroupedConnector::watch_to_end(std::uint32_t job) {
  for (const SlotId slot : unwatched(job)) env_.pool.guard(slot);
}

// ---- fences
// --------------------------------------------------------------------------------------

/// Slots of a store that fences watch from its start: those of sliding groups.
SlotSpan GroupedConnector::watched(std::uint32_t job) const {
  return SlotSpan(jobs_[job].hbm).first(sliding_slots_[job]);
}

/// Those that they watch once the request has finished.
SlotSpan GroupedConnector::unwatched(std::uint32_t job) const {
  return SlotSpan(jobs_[job].hbm).subspan(sliding_slots_[job]);
}

/// Some page handed out in this step is still being read by a store: find which.
void GroupedConnector::fence_given() {
  const auto given = [&](SlotId slot) { return env_.pool.given_this_step(slot); };
  for (const std::uint32_t job : pending_) {
    const bool finished = env_.requests[jobs_[job].request].state == RequestState::kFinished;
    const SlotSpan pages = finished ? SlotSpan(jobs_[job].hbm) : watched(job);
    if (std::any_of(pages.begin(), pages.end(), given)) jobs_.fence(job);
  }
}

// ---- completions
// ---------------------------------------------------------------------------------

void GroupedConnector::complete_store(std::uint32_t job, Time now) {
  const Handle h = jobs_[job].request;
  ActiveRequest& r = env_.requests[h];
  end_write(jobs_[job].below, {now, r.id});
  stack_->cascade(jobs_[job].below, {now, r.id});
  r.stores.erase(std::find(r.stores.begin(), r.stores.end(), job));
  pending_.erase(std::find(pending_.begin(), pending_.end(), job));
  for (const SlotId slot : watched(job)) env_.pool.unguard(slot);
  if (r.state == RequestState::kFinished) {
    for (const SlotId slot : unwatched(job)) env_.pool.unguard(slot);
    recycle_if_gone(h);
  }
  jobs_.release(job);
}

}  // namespace spillway
