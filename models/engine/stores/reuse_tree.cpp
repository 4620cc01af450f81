#include "models/engine/stores/reuse_tree.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "sim/error.hpp"

namespace spillway {

namespace {

std::uint32_t buckets_of(std::uint32_t blocks) {
  return std::bit_ceil(std::max(16U, blocks));
}

}  // namespace

ReuseTree::ReuseTree(const Config& config, const Workload& workload, Copies& copies)
    : config_(config),
      tokens_(workload),
      copies_(copies),
      root_(config.gpu_blocks + config.host_blocks + config.disk_blocks),
      blocks_(root_),
      timed_(root_),
      queues_(kLevels * (kMostRetention + 1), root_),
      children_(root_ + 1, root_),
      mask_(buckets_of(root_) - 1),
      by_first_(mask_ + 1, root_),
      by_last_(mask_ + 1, root_),
      timers_(root_),
      free_{} {
  Block block = 0;
  std::uint8_t level = 0;
  for (const std::uint32_t slots : {config.gpu_blocks, config.host_blocks, config.disk_blocks}) {
    for (std::uint32_t slot = 0; slot < slots; ++slot, ++block) {
      blocks_[block].level = level;
      blocks_[block].slot = slot;
      enqueue(block);
    }
    ++level;
  }
}

// ---- the tree
// ------------------------------------------------------------------------------------

std::uint32_t ReuseTree::bucket(Block parent, std::uint64_t name, std::uint32_t tokens) const {
  std::uint64_t x = (std::uint64_t{parent} << 33 | name) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 29 ^ tokens) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::uint32_t>(x >> 32) & mask_;
}

ReuseTree::Block ReuseTree::find(Block parent, RequestId r, std::uint32_t number,
                                 std::uint32_t tokens) const {
  const std::uint32_t from = number * config_.block_tokens;
  Block block = by_last_.first(bucket(parent, tokens_.name(r, from + tokens - 1), tokens));
  for (; block != IndexLists::kEnd; block = by_last_.next(block)) {
    const Data& b = blocks_[block];
    if (b.parent == parent && b.tokens == tokens &&
        tokens_.common(b.owner, r, from, tokens) == tokens) {
      return block;
    }
  }
  return kNone;
}

ReuseTree::Closest ReuseTree::closest(Block parent, RequestId r, std::uint32_t number,
                                      std::uint32_t tokens, bool unused_leaves) const {
  const std::uint32_t from = number * config_.block_tokens;
  Closest best;
  Block block = by_first_.first(bucket(parent, tokens_.name(r, from), 0));
  for (; block != IndexLists::kEnd && best.tokens < tokens; block = by_first_.next(block)) {
    const Data& b = blocks_[block];
    if (b.parent != parent || (unused_leaves && (b.refs > 0 || !leaf(block)))) continue;
    const std::uint32_t common = tokens_.common(b.owner, r, from, std::min(tokens, b.tokens));
    if (common > best.tokens) best = {block, common};
  }
  return best;
}

void ReuseTree::enter(Block block, Block parent, RequestId r, std::uint32_t number,
                      std::uint32_t tokens) {
  Data& b = blocks_[block];
  KV_ASSERT(b.stamp == 0, "block {} is in the tree already", block);
  const std::uint32_t from = number * config_.block_tokens;
  b.owner = r;
  b.tokens = tokens;
  b.parent = parent;
  b.stamp = ++stamps_;
  children_.push_back(parent, block);
  by_first_.push_back(bucket(parent, tokens_.name(r, from), 0), block);
  by_last_.push_back(bucket(parent, tokens_.name(r, from + tokens - 1), tokens), block);
  ++counters_[b.level].entered;
  ++counters_[b.level].resident;
}

void ReuseTree::leave(Block block) {
  Data& b = blocks_[block];
  children_.erase(block);
  by_first_.erase(block);
  by_last_.erase(block);
  b.parent = kNone;
  b.stamp = 0;
  ++counters_[b.level].left;
  --counters_[b.level].resident;
}

void ReuseTree::detach(Block block) {
  KV_ASSERT(leaf(block), "block {} is no leaf", block);
  leave(block);
}

void ReuseTree::leave_with_all_behind(Block block) {
  scratch_.clear();
  if (blocks_[block].stamp == 0) return;
  scratch_.push_back(block);
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    Block child = children_.first(scratch_[i]);
    for (; child != IndexLists::kEnd; child = children_.next(child)) scratch_.push_back(child);
  }
  for (const Block gone : scratch_) leave(gone);
}

// ---- memory
// --------------------------------------------------------------------------------------

void ReuseTree::enqueue(Block block) {
  const Data& b = blocks_[block];
  queues_.push_back(queue_of(b), block);
  ++free_[b.level];
}

/// Its timer stops.
void ReuseTree::dequeue(Block block) {
  if (!queues_.contains(block)) return;
  queues_.erase(block);
  --free_[blocks_[block].level];
  if (timers_.contains(block)) timers_.erase(block);
}

ReuseTree::Block ReuseTree::victim(std::uint32_t level) const {
  KV_ASSERT(free_[level] > 0, "no block of level {} is free", level);
  std::uint32_t queue = level * (kMostRetention + 1);
  while (queues_.empty(queue)) ++queue;
  return queues_.front(queue);
}

void ReuseTree::keep(Block block, const RetentionRule& rule) {
  Data& b = blocks_[block];
  b.priority = static_cast<std::uint8_t>(rule.priority);
  b.timed = rule.duration.has_value();
  if (b.timed) timed_[block].duration = *rule.duration;
}

void ReuseTree::claim(Block block, const std::optional<RetentionRule>& rule) {
  dequeue(block);
  Data& b = blocks_[block];
  if (b.refs++ == 0 && b.stamp > 0) ++use_version_;
  keep(block, rule.value_or(RetentionRule{b.priority, std::nullopt}));
}

/// The two exchange their memory.
void ReuseTree::swap_places(Block a, Block b) {
  for (const auto& [block, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (blocks_[block].stamp == 0) continue;
    Counters& before = counters_[blocks_[block].level];
    ++before.left;
    --before.resident;
    Counters& behind = counters_[blocks_[other].level];
    ++behind.entered;
    ++behind.resident;
  }
  std::swap(blocks_[a].slot, blocks_[b].slot);
  std::swap(blocks_[a].level, blocks_[b].level);
}

/// WindowBlockManager::getFreeBlock().
ReuseTree::Block ReuseTree::take(const RetentionRule& rule) {
  Block block = victim(0);
  const Data& v = blocks_[block];
  if (v.written && v.priority >= config_.offload_min_priority && free_[1] > 0) {
    const Block given_up = victim(1);
    copies_.copy(place_of(block), place_of(given_up), config_.block_tokens);
    ++counters_[1].taken;
    counters_[1].given_up += blocks_[given_up].stamp > 0 ? 1 : 0;
    dequeue(block);
    dequeue(given_up);
    leave_with_all_behind(given_up);
    swap_places(block, given_up);
    blocks_[block].timed = false;
    enqueue(block);
    block = given_up;
  } else {
    leave_with_all_behind(block);
    dequeue(block);
  }
  keep(block, rule);
  Data& b = blocks_[block];
  b.refs = 1;
  b.written = true;
  return block;
}

/// WindowBlockManager::onboardBlock().
void ReuseTree::onboard(Block block) {
  if (on_gpu(block)) return;
  const Block other = take({});
  copies_.copy(place_of(block), place_of(other), config_.block_tokens);
  swap_places(block, other);
  blocks_[other].refs = 0;
  enqueue(other);
}

void ReuseTree::copy(Block source, Block block, std::uint32_t tokens) {
  if (on_gpu(source)) return;  // within the GPU it costs nothing
  copies_.copy(place_of(source), place_of(block), tokens);
}

void ReuseTree::release(Block block, Time now) {
  Data& b = blocks_[block];
  KV_ASSERT(b.refs > 0, "block {} has no user", block);
  if (--b.refs > 0) return;
  if (b.stamp > 0) ++use_version_;
  enqueue(block);
  if (!b.timed || b.priority == kDefaultRetention) return;
  Timed& timed = timed_[block];
  timed.released = ++releases_;
  timed.expiry = nanoseconds_of(now) + timed.duration.count();
  timers_.push(block, static_cast<std::uint64_t>(timed.expiry));
}

/// Model: in order of expiry, then of release; upstream's heap orders by address.
void ReuseTree::expire(Time now) {
  scratch_.clear();
  while (!timers_.empty() &&
         timers_.front_key() <= static_cast<std::uint64_t>(nanoseconds_of(now))) {
    scratch_.push_back(timers_.front());
    timers_.erase(scratch_.back());
  }
  const auto order = [&](Block block) {
    return std::tuple(timed_[block].expiry, timed_[block].released);
  };
  std::sort(scratch_.begin(), scratch_.end(),
            [&](Block a, Block b) { return order(a) < order(b); });
  for (const Block block : scratch_) {
    dequeue(block);
    blocks_[block].priority = kDefaultRetention;
    enqueue(block);
  }
}

void ReuseTree::check_drained() const {
  KV_ASSERT(free_[0] == config_.gpu_blocks, "{} blocks are still in use", used_blocks());
  KV_ASSERT(free_[1] == config_.host_blocks, "{} slots of host memory are not free",
            config_.host_blocks - free_[1]);
}

}  // namespace spillway
