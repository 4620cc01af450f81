#include "models/engine/connectors/offload_connector.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

OffloadConnector::OffloadConnector(const Environment& environment, FirstStore first,
                                   std::unique_ptr<TierStack> stack,
                                   std::unique_ptr<WriteAdmissionPolicy> admission)
    : TierConnector(environment, std::move(first), std::move(stack)),
      admission_(std::move(admission)),
      counts_lookups_(admission_ != nullptr && admission_->wants_lookups()) {
  const OffloadConfig& c = env_.config;
  if (c.store_threshold < 2) return;
  threshold_ = std::make_unique<StoreThreshold>(
      c.store_threshold, c.threshold_counts_offers, c.max_tracker_size,
      shared_ ? env_.chains.most_blocks() : env_.chains.block_count());
}

void OffloadConnector::grow_blocks(std::uint32_t blocks) {
  TierConnector::grow_blocks(blocks);
  if (shared_) return;
  if (threshold_ != nullptr) threshold_->grow(blocks);
  if (admission_ != nullptr) admission_->grow(blocks);
}

// ---- look-up
// -------------------------------------------------------------------------------------

/// Calls visit(first id, count) for the keys of the request's chunks [from, to), in order: count
/// ids, each per_chunk_ after the one before. A chunk's key is its last block.
template <class Visit>
void OffloadConnector::for_keys(RequestId id, std::uint32_t from, std::uint32_t to,
                                Visit visit) const {
  const std::uint32_t k = per_chunk_;
  std::uint32_t at = from * k;
  for_runs(id, at, to * k, [&](std::uint32_t first, std::uint32_t count) {
    if (k > 1) {
      const std::uint32_t lead = k - 1 - at % k;
      at += count;
      if (lead >= count) return true;
      first += lead;
      count = (count - 1 - lead) / k + 1;
    }
    return visit(first, count);
  });
}

/// Upstream's order: a write under way defers first, then what brings less than a chunk beyond the
/// local hit counts as nothing, then another request's load defers (OffloadingConnectorScheduler,
/// _lookup).
OffloadConnector::Lookup OffloadConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                                   const Access& access) {
  if (has_levels_) stack_->begin_step(access.now);
  if (r.transfers_in_flight()) return {false, 0};
  const std::uint32_t full = r.tokens() / chunk_tokens_;
  const std::uint32_t start = local / per_chunk_;
  const std::uint32_t stride = per_chunk_;
  std::uint32_t hits = 0;
  bool pending = false;
  bool reading = false;
  const bool asks = full * per_chunk_ >= local + per_chunk_;
  if (asks) {
    for_keys(r.id, start, full, [&](std::uint32_t first, std::uint32_t count) {
      const BlockPlace* block = tier_->places(first);
      for (std::uint32_t i = 0; i < count; ++i, block += stride) {
        const BlockId key{first + i * per_chunk_};
        const LookupState state = state_of(*block, {start + hits, key}, r, access);
        if (state == LookupState::kMiss) return false;
        pending = pending || state == LookupState::kPending;
        reading = reading || state == LookupState::kReading;
        ++hits;
      }
      return true;
    });
  }
  if (asks && threshold_counts_lookups()) {
    collect_keys(r.id, start, std::min(start + hits + 1, full));
    for (const BlockId key : keys_) threshold_->see_lookup(key);
  }
  touch_chain(r, access);
  if (pending) return {false, 0};
  const std::uint32_t end = (start + hits) * per_chunk_;
  if (end < local + per_chunk_) return {true, 0};
  const bool convoy = env_.config.convoy && env_.config.enable_prefix_caching && reading;
  return convoy ? Lookup{false, 0} : Lookup{true, end - local};
}

void OffloadConnector::note_lookup(const ActiveRequest& r, std::uint32_t local) {
  if (!counts_lookups_) return;
  fresh_.clear();
  const std::uint32_t full = r.tokens() / chunk_tokens_;
  for_keys(r.id, local / per_chunk_, full, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i, first += per_chunk_) {
      fresh_.push_back(BlockId{first});
      if (tier_->state(tier_->place(BlockId{first})) == LookupState::kMiss) return false;
    }
    return true;
  });
  if (!fresh_.empty()) admission_->on_lookup(fresh_);
}

/// The keys of the chunks [from, to), into keys_.
void OffloadConnector::collect_keys(RequestId id, std::uint32_t from, std::uint32_t to) {
  keys_.clear();
  for_keys(id, from, to, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) keys_.push_back(BlockId{first + i * per_chunk_});
    return true;
  });
}

/// All of the request's full chunks that lie idle below, the head of the sequence last (most
/// recent).
void OffloadConnector::touch_chain(const ActiveRequest& r, const Access& access) {
  runs_.clear();
  const std::uint32_t full = r.tokens() / chunk_tokens_;
  for_keys(r.id, 0, full, [&](std::uint32_t first, std::uint32_t count) {
    runs_.push_back({first, count});
    return true;
  });
  if (tier_->orders_all()) return touch_all();
  // A plain pointer: whether a push_back is inlined here decides a tenth of such a run.
  std::size_t most = 0;
  for (const Run& run : runs_) most += run.count;
  if (touched_.size() < most) touched_.resize(most);
  SlotId* end = touched_.data();
  const auto take = [&](BlockPlace block) {
    if (block.idle()) *end++ = block.slot();
  };
  const std::size_t stride = per_chunk_;
  for (std::size_t i = runs_.size(); i-- > 0;) {
    const BlockPlace* block = tier_->places(runs_[i].first);
    if (stride == 1) {  // nearly always, and walked for every look-up and store
      for (std::uint32_t k = runs_[i].count; k-- > 0;) take(block[k]);
    } else {
      for (std::uint32_t k = runs_[i].count; k-- > 0;) take(block[k * stride]);
    }
  }
  tier_->touch({touched_.data(), end}, access);
}

/// The same of all chunks in runs_, wherever they are.
void OffloadConnector::touch_all() {
  keys_.clear();
  touched_.clear();
  for (std::size_t i = runs_.size(); i-- > 0;) {
    for (std::uint32_t k = runs_[i].count; k-- > 0;) {
      const std::uint32_t key = runs_[i].first + k * per_chunk_;
      const BlockPlace block = tier_->place(BlockId{key});
      keys_.push_back(BlockId{key});
      touched_.push_back(block.here() ? block.slot() : kNoSlot);
    }
  }
  tier_->touch_all(keys_, touched_);
}

/// The slots of those of the chunks [from, to) that the tier holds.
void OffloadConnector::collect_below(RequestId id, std::uint32_t from, std::uint32_t to,
                                     std::vector<SlotId>& out) {
  out.clear();
  for_keys(id, from, to, [&](std::uint32_t first, std::uint32_t count) {
    const BlockPlace* block = tier_->places(first);
    for (std::uint32_t i = 0; i < count; ++i, block += per_chunk_) {
      if (block->here()) out.push_back(block->slot());
    }
    return true;
  });
}

// ---- planning
// ------------------------------------------------------------------------------------

void OffloadConnector::plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) {
  ActiveRequest& r = env_.requests[h];
  const std::uint32_t job = jobs_.make(h);
  const std::uint32_t first = local / per_chunk_;
  const std::uint32_t end = (local + blocks) / per_chunk_;
  collect_below(r.id, first, end, jobs_[job].below);
  KV_ASSERT(jobs_[job].below.size() == end - first && end * per_chunk_ == local + blocks,
            "a load of blocks that are not there");
  jobs_[job].blocks = blocks;
  start_load(r, job, local + blocks);
}

/// Each waiting request's chunks that neither HBM nor the nearest tier has are asked for, up to
/// the first that no level has.
void OffloadConnector::look_ahead(Time now) {
  std::erase_if(ahead_, [&](Ahead& a) {
    const ActiveRequest& r = env_.requests[a.handle];
    if (r.id != a.request || r.state != RequestState::kWaiting || r.admitted_before) return true;
    const Access access{now, r.id};
    std::uint32_t position = a.from;
    bool there = true;  // all so far
    bool over = true;
    for_keys(r.id, a.from, r.tokens() / chunk_tokens_, [&](std::uint32_t first, std::uint32_t n) {
      for (std::uint32_t i = 0; i < n; ++i, first += per_chunk_, ++position) {
        const BlockId key{first};
        if (!tier_->place(key).here() && !env_.pool.places(first)->here()) {
          const auto verdict = stack_->look_ahead({position, key}, a.handle, access);
          if (verdict == TierStack::Verdict::kMiss) return false;
          over = over && verdict != TierStack::Verdict::kRetry;
          there = false;
        } else if (there) {
          a.from = position + 1;
        }
      }
      return true;
    });
    return over;
  });
}

// ---- offers
// --------------------------------------------------------------------------------------

/// Verdicts on fresh_, and out of it with what is refused.
void OffloadConnector::ask_admission(const ActiveRequest& r, Time now) {
  verdicts_.resize(fresh_.size());
  WriteOffer offer;
  offer.now = now;
  offer.blocks = fresh_;
  offer.positions = fresh_at_;
  const auto unseen = std::lower_bound(fresh_at_.begin(), fresh_at_.end(), r.sighted / per_chunk_);
  offer.repeated = static_cast<std::size_t>(unseen - fresh_at_.begin());
  offer.prompt_tokens = r.prompt;
  offer.jobs_in_flight = stores_in_flight_;
  offer.bytes_in_flight = stored_bytes_in_flight_;
  admission_->decide(offer, verdicts_);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    if (verdicts_[i] != WriteVerdict::kWrite) continue;
    fresh_[kept] = fresh_[i];
    fresh_at_[kept++] = fresh_at_[i];
  }
  fresh_.resize(kept);
  fresh_at_.resize(kept);
}

/// What was not seen often enough leaves the offer, and is not spared if it is below.
void OffloadConnector::drop_unseen() {
  const std::size_t before = offered_.size() + fresh_.size();
  std::erase_if(offered_, [&](SlotId at) { return !threshold_->passes(tier_->block_in(at)); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    if (!threshold_->passes(fresh_[i])) continue;
    fresh_[kept] = fresh_[i];
    fresh_at_[kept++] = fresh_at_[i];
  }
  fresh_.resize(kept);
  fresh_at_.resize(kept);
  counters_.stores_skipped += (before - offered_.size() - kept) * per_chunk_;
}

/// Chunks before `storable` have been offered: what was refused of them stays out.
void OffloadConnector::settle(ActiveRequest& r, std::uint32_t storable) {
  r.next_store = storable * per_chunk_;
  for (const WriteVerdict verdict : verdicts_) {
    counters_.refused[static_cast<std::size_t>(verdict)] += per_chunk_;
  }
  verdicts_.clear();
}

/// Offers the chunks behind next_store that `tokens` tokens fill: those absent below, and admitted
/// there, get a slot and one job, all or none.
void OffloadConnector::offer(Handle h, std::uint32_t tokens, const Access& access, bool finished) {
  ActiveRequest& r = env_.requests[h];
  const auto held = static_cast<std::uint32_t>(r.slots.size());
  const std::uint32_t storable = std::min(tokens / chunk_tokens_, held / per_chunk_);
  std::uint32_t position = r.next_store / per_chunk_;
  if (storable <= position) return;
  fresh_.clear();
  fresh_at_.clear();
  if (threshold_ != nullptr && threshold_->counts_offers()) {
    collect_keys(r.id, position, storable);
    threshold_->see_offer(keys_);
  }
  const std::uint32_t stride = per_chunk_;
  offered_.resize(storable - position);
  SlotId* present = offered_.data();
  for_keys(r.id, position, storable, [&](std::uint32_t first, std::uint32_t count) {
    const BlockPlace* block = tier_->places(first);
    for (std::uint32_t at = 0; at < count * stride; at += stride, ++position) {
      if (block[at].here()) {
        *present++ = block[at].slot();
      } else {
        fresh_.push_back(BlockId{first + at});
        fresh_at_.push_back(position);
      }
    }
    return true;
  });
  offered_.resize(static_cast<std::size_t>(present - offered_.data()));
  if (threshold_ != nullptr) drop_unseen();
  verdicts_.clear();
  if (admission_ != nullptr && !fresh_.empty()) {
    ask_admission(r, access.now);
    r.sighted = std::max(r.sighted, storable * per_chunk_);
  }
  if (fresh_.empty()) return settle(r, storable);
  if (!stack_->make_room(fresh_, offered_, access)) {
    ++counters_.store_failures;
    if (has_levels_) stack_->on_store_refused(fresh_.size());
    return;
  }
  const std::uint32_t job = jobs_.make(h);
  TransferJob& store = jobs_[job];
  begin_write(fresh_, store.below);
  for (const std::uint32_t at : fresh_at_) {
    const auto first = r.slots.begin() + std::ptrdiff_t{at} * stride;
    if (stride == 1) {
      store.hbm.push_back(*first);
    } else {
      store.hbm.insert(store.hbm.end(), first, first + stride);
    }
  }
  store.blocks = static_cast<std::uint32_t>(store.hbm.size());
  touch_chain(r, access);
  settle(r, storable);
  ++stores_in_flight_;
  stored_bytes_in_flight_ += jobs_.bytes_of(job);
  r.stores.push_back(job);
  jobs_.plan_store(job);
  ++counters_.store_jobs;
  if (finished) {
    finished_jobs_.push_back(job);
    bool given = false;
    for (const SlotId slot : jobs_[job].hbm) {
      env_.pool.guard(slot);
      given = given || env_.pool.given_this_step(slot);
    }
    if (given) jobs_.fence(job);
  }
}

/// Fences watch what a finished request's stores still read.
void OffloadConnector::watch_to_end(std::uint32_t job) {
  finished_jobs_.push_back(job);
  for (const SlotId slot : jobs_[job].hbm) env_.pool.guard(slot);
}

// ---- fences
// --------------------------------------------------------------------------------------

/// Some block handed out in this step is still being read by a finished request's store: find
/// which.
void OffloadConnector::fence_given() {
  for (const std::uint32_t job : finished_jobs_) {
    const auto& slots = jobs_[job].hbm;
    if (std::any_of(slots.begin(), slots.end(),
                    [&](SlotId slot) { return env_.pool.given_this_step(slot); })) {
      jobs_.fence(job);
    }
  }
}

// ---- completions
// ---------------------------------------------------------------------------------

void OffloadConnector::complete_store(std::uint32_t job, Time now) {
  const Handle h = jobs_[job].request;
  ActiveRequest& r = env_.requests[h];
  end_write(jobs_[job].below, {now, r.id});
  stack_->cascade(jobs_[job].below, {now, r.id});
  r.stores.erase(std::find(r.stores.begin(), r.stores.end(), job));
  if (r.state == RequestState::kFinished) {
    finished_jobs_.erase(std::find(finished_jobs_.begin(), finished_jobs_.end(), job));
    for (const SlotId slot : jobs_[job].hbm) env_.pool.unguard(slot);
    recycle_if_gone(h);
  }
  --stores_in_flight_;
  stored_bytes_in_flight_ -= jobs_.bytes_of(job);
  jobs_.release(job);
}

}  // namespace spillway
