#include "models/engine/schedulers/paged_scheduler.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

void PagedScheduler::schedule(Time now, StepPlan& plan) {
  plan.clear();
  copies_.begin_step();
  next_.clear();
  prompts_.clear();
  decodes_.clear();
  end_ = ~std::uint64_t{0};
  starved_ = false;
  choose_decodes(now, plan);
  choose_prompts(now);
  fill(plan);
  plan.starved = starved_;
  asleep_ = plan.items.empty();
}

// ---- decodes
// -------------------------------------------------------------------------------------

void PagedScheduler::choose_decodes(Time now, StepPlan& plan) {
  const std::size_t most = std::min(config_.max_num_seqs, config_.max_num_batched_tokens);
  for (std::size_t i = 0; i < started_.size() && order(started_[i]) < end_; ++i) {
    const Handle h = started_[i];
    if (!decodes(h)) continue;
    bool fits = decodes_.size() < most;
    while (fits && !grow(h, blocks_.blocks_of(requests_[h].tokens()))) {
      fits = make_room(i, now, plan);
    }
    if (!fits) {
      end_ = order(h);
      return;
    }
    decodes_.push_back(h);
  }
}

/// _try_evict_for_gen(), _try_recompute_pause_for_gen(). Model: nobody gives its blocks up while
/// some request runs, which may give room; upstream's do in any case.
bool PagedScheduler::make_room(std::size_t place, Time now, StepPlan& plan) {
  std::size_t last = started_.size() - 1;
  while (last > place && held(started_[last]).suspended) --last;
  const bool give = last == place && decodes_.empty();
  if (give) last = started_.size() - 1;
  const Handle h = started_[last];
  if (last > place) {
    end_ = std::min(end_, order(h));
    give ? give_up(h, now, plan) : suspend(h, now, plan);
    return true;
  }
  if (!held(h).suspended) suspend(h, now, plan);
  return false;
}

/// _KVCache.suspend().
void PagedScheduler::suspend(Handle h, Time now, StepPlan& plan) {
  Held& d = held(h);
  for (const ReuseTree::Block block : d.sequence.blocks) levels_.unlock(block);
  d.suspended = true;
  ++suspended_;
  preempted(h, now, plan);
}

void PagedScheduler::give_up(Handle h, Time now, StepPlan& plan) {
  Held& d = held(h);
  KV_ASSERT(d.suspended, "request {} runs", raw(requests_[h].id));
  std::vector<ReuseTree::Block>& blocks = d.sequence.blocks;
  for (; !blocks.empty(); blocks.pop_back()) levels_.let_go(blocks.back());
  d.suspended = false;
  --suspended_;
  begin_again(h, now, plan);
  requeue(h);
}

// ---- prompts
// -------------------------------------------------------------------------------------

void PagedScheduler::choose_prompts(Time now) {
  room_ = config_.max_num_batched_tokens - static_cast<std::uint32_t>(decodes_.size());
  asked_ = 0;
  under_way_.clear();
  for (const Handle h : started_) {
    if (order(h) < end_ && !decodes(h)) under_way_.push_back(h);
  }
  bool begins = true;  // first chunks are asked
  std::size_t next = 0;
  while (more_prompts()) {
    const bool chunk = next < under_way_.size();
    const bool first = begins && asked_ < waiting_.size() && order(waiting_[asked_]) < end_ &&
                       !(chunk && order(under_way_[next]) < order(waiting_[asked_]));
    if (!first && !chunk) break;
    if (!first) {
      ask_under_way(under_way_[next++]);
    } else {
      begins = ask_first(waiting_[asked_++], now);
    }
  }
  take_from_waiting();
}

bool PagedScheduler::more_prompts() const {
  const std::uint32_t least = config_.chunked_prefill ? page() : 1;
  return prompts_.size() + decodes_.size() < config_.max_num_seqs && room_ >= least;
}

/// Of the rest of a prompt, what the step takes; 0: nothing.
std::uint32_t PagedScheduler::chunk_of(std::uint32_t rest) const {
  if (rest <= room_) return rest;
  return config_.chunked_prefill ? room_ / page() * page() : 0;
}

/// There is a full block that it will compute first; its last token is of none.
bool PagedScheduler::has_next(Handle h, const Reuse& reuse) const {
  return rules_.block_reuse && reuse.all < (held(h).context - 1) / page();
}

void PagedScheduler::contribute(Handle h, const Reuse& reuse) {
  if (has_next(h, reuse)) next_.add(reuse.last, held(h).sequence.id, reuse.all);
}

void PagedScheduler::choose_prompt(Handle h, std::uint32_t tokens) {
  prompts_.push_back({h, tokens, 0});
  room_ -= tokens;
}

void PagedScheduler::ask_under_way(Handle h) {
  Held& d = held(h);
  const std::uint32_t computed = requests_[h].computed;
  const Reuse reuse = blocks_.reuse(d.sequence, d.context - 1);
  const std::uint32_t tokens = chunk_of(d.context - computed);
  if (!grow(h, blocks_.blocks_of(computed + tokens))) return;
  contribute(h, reuse);
  choose_prompt(h, tokens);
}

/// False: nobody who came after it is to begin before it.
bool PagedScheduler::ask_first(Handle h, Time now) {
  Sequence& s = held(h).sequence;
  const Reuse reuse = blocks_.reuse(s, held(h).context - 1);
  // Whoever computes it now leaves it to be found (probe_first_new_block_key()).
  if (has_next(h, reuse) && next_.has(reuse.last, s.id, reuse.all)) return true;
  if (!may_resume()) return false;
  for (const Sequence::Known& known : s.path) s.blocks.push_back(known.block);
  const ReuseTree::Closest part = blocks_.part_of(s, held(h).context);
  const bool begun = begin(h, part, now) || (part.block != ReuseTree::kNone && begin(h, {}, now));
  if (!begun) {
    s.blocks.clear();
    return false;
  }
  contribute(h, reuse);
  return true;
}

/// With what it has found, if there is room.
bool PagedScheduler::begin(Handle h, const ReuseTree::Closest& part, Time now) {
  Held& d = held(h);
  Sequence& s = d.sequence;
  SequenceBlocks::Admission found;
  for (const ReuseTree::Block block : s.blocks) blocks_.count(block, page(), found);
  if (part.block != ReuseTree::kNone) blocks_.count(part.block, part.tokens, found);
  const std::uint32_t tokens = chunk_of(d.context - found.computed);
  if (tokens == 0) return false;
  const std::uint32_t fresh = blocks_.blocks_of(found.computed + tokens) - s.held();
  if (!fits(s.blocks, fresh, part.block)) return false;
  for (const ReuseTree::Block block : s.blocks) levels_.hold(block);
  const bool copies = part.block != ReuseTree::kNone;
  if (copies) {
    levels_.hold(part.block);
    levels_.on_gpu(part.block) ? levels_.lock(part.block) : levels_.touch(part.block);
  }
  const std::uint32_t first = s.held();
  lock_all(h);
  take(h, fresh);
  if (copies) levels_.copy_out(part.block, s.blocks[first], part.tokens);
  ActiveRequest& r = requests_[h];
  r.computed = found.computed;
  r.state = RequestState::kRunning;
  count_admission(r, found);
  if (r.scheduled == kNever) r.scheduled = now;
  put_into_started(h);
  choose_prompt(h, tokens);
  return true;
}

// ---- blocks
// --------------------------------------------------------------------------------------

/// _KVCache.resume(): nobody comes back, or begins, into a pool that is nearly full.
bool PagedScheduler::may_resume() {
  constexpr std::uint64_t kMillion = 1'000'000;
  const bool out = levels_.locked_blocks() * kMillion <=
                   std::uint64_t{config_.num_gpu_blocks} * rules_.resume_ppm;
  starved_ = starved_ || !out;
  return out;
}

/// These, and so many new ones.
bool PagedScheduler::fits(std::span<const ReuseTree::Block> blocks, std::uint32_t fresh,
                          ReuseTree::Block source) {
  const auto below = std::count_if(blocks.begin(), blocks.end(),
                                   [&](ReuseTree::Block block) { return !levels_.on_gpu(block); });
  const bool out = below + std::int64_t{fresh} <= levels_.room(blocks, source);
  starved_ = starved_ || !out;
  return out;
}

/// So many blocks for one that has some, if there is room: it runs then.
bool PagedScheduler::grow(Handle h, std::uint32_t blocks) {
  Held& d = held(h);
  const Sequence& s = d.sequence;
  const std::uint32_t fresh = blocks - s.held();
  if (d.suspended) {
    if (!may_resume() || !fits(s.blocks, fresh, ReuseTree::kNone)) return false;
  } else if (fresh > 0 && !fits({}, fresh, ReuseTree::kNone)) {
    return false;  // what it has is locked already
  }
  if (d.suspended) {
    d.suspended = false;
    --suspended_;
    lock_all(h);
  }
  take(h, fresh);
  requests_[h].state = RequestState::kRunning;
  return true;
}

/// What it has comes to the GPU, and is not evicted from there.
void PagedScheduler::lock_all(Handle h) {
  const std::vector<ReuseTree::Block>& blocks = held(h).sequence.blocks;
  copies_.allocate_for(h);
  below_.clear();
  for (const ReuseTree::Block block : blocks) {
    levels_.on_gpu(block) ? levels_.lock(block) : below_.push_back(block);
  }
  for (const ReuseTree::Block block : below_) levels_.touch(block);
  for (const ReuseTree::Block block : below_) levels_.bring_up(block);
}

void PagedScheduler::take(Handle h, std::uint32_t blocks) {
  copies_.allocate_for(h);
  for (; blocks > 0; --blocks) held(h).sequence.blocks.push_back(levels_.take_slot());
}

// ---- the step
// ------------------------------------------------------------------------------------

void PagedScheduler::fill(StepPlan& plan) {
  const auto ends = [&](const Part& part) {
    return requests_[part.request].computed + part.tokens == held(part.request).context;
  };
  std::stable_partition(prompts_.begin(), prompts_.end(),
                        [&](const Part& part) { return !ends(part); });
  for (const Part& part : prompts_) {
    plan.items.push_back({part.request, part.tokens, requests_[part.request].computed, ends(part)});
  }
  for (const Handle h : decodes_) plan.items.push_back({h, 1, requests_[h].computed, true});
}

/// try_commit_blocks(): what prompts have computed is there for others, a complete one's last block
/// too; nothing of what is generated.
void PagedScheduler::on_step_end(StepPlan& plan, Time /*now*/) {
  for (const ScheduledTokens& item : plan.items) {
    const Held& d = held(item.request);
    if (item.computed >= d.context) continue;
    const std::uint32_t computed = item.computed + item.tokens;
    blocks_.store(d.sequence, computed, computed == d.context);
  }
}

void PagedScheduler::give_back(Finished& finished, Time /*now*/) {
  std::vector<ReuseTree::Block>& blocks = finished.sequence.blocks;
  for (; !blocks.empty(); blocks.pop_back()) {
    levels_.unlock(blocks.back());
    levels_.let_go(blocks.back());
  }
}

// ---- what others ask
// -----------------------------------------------------------------------------

std::uint32_t PagedScheduler::running() const {
  return asleep_ ? 0 : static_cast<std::uint32_t>(started_.size()) - suspended_;
}

std::uint32_t PagedScheduler::waiting() const {
  return static_cast<std::uint32_t>(waiting_.size()) + suspended_;
}

void PagedScheduler::check_drained() const {
  KV_ASSERT(started_.empty(), "{} requests have not ended", started_.size());
  levels_.check_drained();
}

}  // namespace spillway
