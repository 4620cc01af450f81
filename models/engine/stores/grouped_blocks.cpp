#include "models/engine/stores/grouped_blocks.hpp"

#include <algorithm>

namespace spillway {

namespace {

/// Tokens that may be scheduled beyond those whose step has ended: one batch per step in flight.
std::uint64_t in_flight_tokens(const BlockConfig& config) {
  return std::uint64_t{config.max_num_batched_tokens} * config.batches_in_flight();
}

std::uint64_t pages_within(const BlockConfig& config, std::uint64_t tokens, std::uint64_t bound) {
  const std::uint64_t whole = (tokens + config.block_tokens - 1) / config.block_tokens;
  return config.groups.full * whole + config.groups.sliding * std::min(whole, bound);
}

}  // namespace

std::uint64_t most_pages(const BlockConfig& config, std::uint64_t tokens) {
  if (!config.groups.hybrid()) return pages_within(config, tokens, 0);
  return pages_within(config, tokens,
                      config.groups.bound(tokens, in_flight_tokens(config), config.block_tokens));
}

std::uint64_t startup_pages(const BlockConfig& config, std::uint64_t tokens) {
  const KvGroups& groups = config.groups;
  const std::uint64_t full = pages_within(config, tokens, 0);
  if (!groups.hybrid()) return full;
  return full +
         groups.sliding * groups.bound(tokens, in_flight_tokens(config), config.block_tokens);
}

GroupedBlocks::GroupedBlocks(const Environment& environment)
    : env_(environment),
      groups_(environment.config.groups),
      count_(groups_.count()),
      most_sliding_(static_cast<std::uint32_t>(groups_.bound(~std::uint64_t{0},
                                                             in_flight_tokens(environment.config),
                                                             environment.config.block_tokens))) {
  KV_ASSERT(groups_.window > 0, "sliding layers without a window");
  pages_.reserve(
      std::min(env_.pool.usable(), env_.chains.longest_chain() * env_.config.groups.count()));
}

std::uint32_t GroupedBlocks::blocks_for(std::uint64_t tokens) const {
  const std::uint32_t most = env_.config.max_model_len;
  const std::uint64_t kept = most > 0 ? std::min<std::uint64_t>(tokens, most) : tokens;
  return static_cast<std::uint32_t>((kept + env_.config.block_tokens - 1) /
                                    env_.config.block_tokens);
}

// ---- prefix hits
// ---------------------------------------------------------------------------------

/// Full groups from the left, to the first block of which one lacks its page; sliding groups from
/// the right of that, to the last run of blocks that covers a window. Less than a window is enough
/// where the run begins with the sequence.
std::uint32_t GroupedBlocks::find_local(const ActiveRequest& r, std::vector<SlotId>& hits) const {
  hits.clear();
  if (!env_.config.enable_prefix_caching) return 0;
  const std::uint32_t limit = (r.tokens() - 1) / env_.config.block_tokens;
  env_.chains.for_runs(r.id, 0, limit, [&](std::uint32_t first, std::uint32_t count) {
    const BlockPlace* page = env_.pool.places(first * count_);
    for (std::uint32_t i = 0; i < count; ++i, page += count_) {
      for (std::uint32_t g = groups_.sliding; g < count_; ++g) {
        if (!page[g].here()) return false;
      }
      for (std::uint32_t g = 0; g < count_; ++g) hits.push_back(page[g].slot());
    }
    return true;
  });
  const std::uint32_t wanted = groups_.hit_blocks(env_.config.block_tokens);
  std::uint32_t run = 0;
  std::uint32_t at = static_cast<std::uint32_t>(hits.size()) / count_;
  while (at > 0) {
    --at;
    const auto place = hits.begin() + std::ptrdiff_t{at} * count_;
    const bool cached =
        std::find(place, place + groups_.sliding, kNullSlot) == place + groups_.sliding;
    run = cached ? run + 1 : 0;
    if (run > 0 && run >= wanted) break;
  }
  const std::uint32_t found = at + run;  // at is 0 where no run covers a window
  hits.resize(std::size_t{found} * count_);
  for (std::uint32_t i = 0; i < at; ++i) {
    std::fill_n(hits.begin() + std::ptrdiff_t{i} * count_, groups_.sliding, kNullSlot);
  }
  return found;
}

/// The pages of one group in the blocks [from, to) of a list, into pages_.
void GroupedBlocks::collect(const std::vector<SlotId>& places, std::uint32_t group,
                            std::uint32_t from, std::uint32_t to) {
  pages_.clear();
  for (std::uint32_t i = from; i < to; ++i) {
    const SlotId page = places[std::size_t{i} * count_ + group];
    if (page != kNullSlot) pages_.push_back(page);
  }
}

/// Hits without users that admission takes: those of sliding groups before `skipped` it leaves.
std::uint32_t GroupedBlocks::idle_hits(const std::vector<SlotId>& hits,
                                       std::uint32_t skipped) const {
  std::uint32_t idle = 0;
  for (std::size_t place = 0; place < hits.size(); ++place) {
    const auto block = static_cast<std::uint32_t>(place / count_);
    const auto group = static_cast<std::uint32_t>(place % count_);
    if (hits[place] == kNullSlot || (sliding(group) && block < skipped)) continue;
    idle += env_.pool.in_use(hits[place]) ? 0 : 1;
  }
  return idle;
}

// ---- allocation
// ----------------------------------------------------------------------------------

/// Pages to hold `blocks` blocks where `full_held` and `sliding_held` are held or not needed.
/// `bounded`: a sliding group never has more than a window and what is in flight.
std::uint32_t GroupedBlocks::pages_needed(std::uint32_t blocks, std::uint32_t full_held,
                                          std::uint32_t sliding_held, bool bounded) const {
  const std::uint32_t most = bounded ? std::min(blocks, most_sliding_) : blocks;
  return groups_.full * (blocks > full_held ? blocks - full_held : 0) +
         groups_.sliding * (most > sliding_held ? most - sliding_held : 0);
}

bool GroupedBlocks::admit(ActiveRequest& r, const Admission& a, const std::vector<SlotId>& hits,
                          const Access& access) {
  const bool resumed = !r.slots.empty();
  const auto local = static_cast<std::uint32_t>(hits.size()) / count_;
  const std::uint32_t known = std::min(a.known, r.tokens() - 1);
  const std::uint32_t wanted = blocks_for(std::uint64_t{known} + a.tokens);
  const std::uint32_t skipped = resumed ? 0 : groups_.skipped(known, env_.config.block_tokens);
  const std::uint32_t full_held = resumed ? held(r) : local;
  const std::uint32_t sliding_held = resumed ? held(r) : std::max(local, skipped);
  const std::uint32_t others = idle_hits(hits, skipped) + a.watermark;
  const auto needed = [&](std::uint32_t blocks, bool bounded) {
    return pages_needed(blocks, full_held, sliding_held, bounded) + others;
  };
  asked_ = needed(blocks_for(r.tokens()), true);
  if (a.whole && asked_ > env_.pool.free()) return false;
  if (resumed) free_skipped(r, access);
  asked_ = needed(wanted, false);
  if (std::uint64_t{asked_} + a.reserved > env_.pool.free()) return false;

  env_.requests.lend_slots(r);
  env_.pool.note_given(r.slots);  // what a promoted request holds is handed to the worker now
  if (!resumed) share_hits(r, hits, skipped);
  const std::uint32_t loaded = a.external > 0 ? blocks_for(known) : 0;
  const std::uint32_t before = held(r);
  r.slots.resize(std::size_t{std::max(before, wanted)} * count_, kNullSlot);
  for (std::uint32_t g = 0; g < count_; ++g) {
    take(r, g, sliding(g) ? std::max(local, skipped) : local, loaded, access);
  }
  for (std::uint32_t g = 0; g < count_; ++g) {
    take(r, g, std::max({sliding(g) ? sliding_held : full_held, loaded}), wanted, access);
  }
  if (!a.parks) register_full(r, known + a.tokens);
  return true;
}

/// The request's list begins with its hits, less what sliding groups skip.
void GroupedBlocks::share_hits(ActiveRequest& r, const std::vector<SlotId>& hits,
                               std::uint32_t skipped) {
  const auto local = static_cast<std::uint32_t>(hits.size()) / count_;
  r.slots.assign(hits.begin(), hits.end());
  for (std::uint32_t i = 0; i < std::min(local, skipped); ++i) {
    std::fill_n(r.slots.begin() + std::ptrdiff_t{i} * count_, groups_.sliding, kNullSlot);
  }
  for (std::uint32_t g = 0; g < count_; ++g) {
    collect(r.slots, g, 0, local);
    if (!pages_.empty()) env_.pool.share(pages_);
  }
  r.registered = local;
}

/// Pages of one group for the blocks [from, to).
void GroupedBlocks::take(ActiveRequest& r, std::uint32_t group, std::uint32_t from,
                         std::uint32_t to, const Access& access) {
  for (std::uint32_t i = from; i < to; ++i) {
    r.slots[std::size_t{i} * count_ + group] = env_.pool.take(access);
  }
}

bool GroupedBlocks::grow(ActiveRequest& r, std::uint32_t tokens, const Access& access) {
  free_skipped(r, access);
  const std::uint32_t wanted = blocks_for(std::uint64_t{r.computed} + tokens);
  const std::uint32_t before = held(r);
  if (wanted > before) {
    if (std::uint64_t{wanted - before} * count_ > env_.pool.free()) return false;
    r.slots.resize(std::size_t{wanted} * count_, kNullSlot);
    for (std::uint32_t g = 0; g < count_; ++g) take(r, g, before, wanted, access);
  }
  register_full(r, r.computed + tokens);
  return true;
}

/// Sliding groups give back what lies before the window of the first token that is not computed.
/// Steps in flight may still read behind their own, earlier window.
void GroupedBlocks::free_skipped(ActiveRequest& r, const Access& access) {
  const std::uint32_t open = raw(r.id) < in_flight_.size() ? in_flight_[raw(r.id)] : 0;
  const std::uint32_t settled = r.computed > open ? r.computed - open : 0;
  const std::uint32_t end = std::min(groups_.skipped(settled, env_.config.block_tokens), held(r));
  std::uint32_t first = end;
  while (first > 0 && r.slots[std::size_t{first - 1} * count_] != kNullSlot) --first;
  if (first == end) return;
  for (std::uint32_t g = 0; g < groups_.sliding; ++g) {
    collect(r.slots, g, first, end);
    for (std::uint32_t i = first; i < end; ++i) r.slots[std::size_t{i} * count_ + g] = kNullSlot;
    env_.pool.release(pages_, access);
  }
}

void GroupedBlocks::tokens_begin(RequestId request, std::uint32_t tokens) {
  if (in_flight_.size() <= raw(request)) in_flight_.resize(std::size_t{raw(request)} + 1);
  in_flight_[raw(request)] += tokens;
}

void GroupedBlocks::register_full(ActiveRequest& r, std::uint32_t tokens) {
  if (!env_.config.enable_prefix_caching) return;
  const std::uint32_t full = std::min(tokens, r.tokens()) / env_.config.block_tokens;
  if (full <= r.registered) return;
  std::size_t place = std::size_t{r.registered} * count_;
  env_.chains.for_runs(r.id, r.registered, full, [&](std::uint32_t first, std::uint32_t count) {
    const std::uint32_t id = first * count_;
    for (std::uint32_t i = 0; i < count * count_; ++i, ++place) {
      if (r.slots[place] != kNullSlot) {
        env_.pool.register_block(r.slots[place], BlockId{id + i});
      }
    }
    return true;
  });
  r.registered = full;
}

void GroupedBlocks::release(const std::vector<SlotId>& places, const Access& access) {
  const auto blocks = static_cast<std::uint32_t>(places.size()) / count_;
  for (std::uint32_t g = 0; g < count_; ++g) {
    collect(places, g, 0, blocks);
    env_.pool.release(pages_, access);
  }
}

std::uint32_t GroupedBlocks::pages_in(const std::vector<SlotId>& places) {
  const auto none = std::count(places.begin(), places.end(), kNullSlot);
  return static_cast<std::uint32_t>(places.size()) - static_cast<std::uint32_t>(none);
}

std::uint32_t GroupedBlocks::outstanding(const ActiveRequest& r) const {
  return pages_needed(blocks_for(r.tokens()), held(r), held(r), true);
}

}  // namespace spillway
