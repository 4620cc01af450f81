#include "models/engine/stores/paged_tree.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

PagedTree::PagedTree(const Config& config, const Workload& workload, Copies& copies)
    : ReuseTree(config, workload, copies),
      last_(config.disk_blocks > 0 ? 2 : 1),
      slots_{config.gpu_blocks, config.host_blocks, config.disk_blocks},
      locks_(root()) {
  KV_ASSERT(config.host_blocks > 0, "nowhere to suspend requests to");
  for (Block block = 0; block < root(); ++block) {
    dequeue(block);
    turn_empty(block);
  }
}

// ---- requests that have a block
// ------------------------------------------------------------------

std::int64_t PagedTree::room(std::span<const Block> blocks, Block source) const {
  std::int64_t held = held_[0];
  std::int64_t others = std::int64_t{free_[0]} - held;  // empty, or only in the tree
  std::int64_t below = room_below(0);
  const auto keep = [&](Block block) {
    const bool unused = blocks_[block].refs == 0;
    if (!on_gpu(block)) {
      below -= unused ? 1 : 0;
    } else if (locks_[block] == 0) {
      --(unused ? others : held);
    }
  };
  std::for_each(blocks.begin(), blocks.end(), keep);
  if (source != kNone) keep(source);
  return others + std::min(held, below);
}

void PagedTree::hold(Block block) {
  Data& b = blocks_[block];
  if (b.refs++ > 0) return;
  ++held_[b.level];
  if (last(b.level)) dequeue(block);
}

void PagedTree::touch(Block block) {
  if (last(level_of(block))) return;
  dequeue(block);
  enqueue(block);
}

void PagedTree::lock(Block block) {
  KV_ASSERT(on_gpu(block), "block {} is locked on level {}", block, level_of(block));
  if (locks_[block]++ > 0) return;
  --held_[0];
  dequeue(block);
}

void PagedTree::unlock(Block block) {
  KV_ASSERT(locks_[block] > 0, "block {} is not locked", block);
  if (--locks_[block] > 0) return;
  ++held_[0];
  enqueue(block);
}

void PagedTree::let_go(Block block) {
  Data& b = blocks_[block];
  KV_ASSERT(b.refs > 0, "nobody has block {}", block);
  if (--b.refs > 0) return;
  --held_[b.level];
  const bool queued = !last(b.level);
  if (b.stamp > 0) {
    if (!queued) enqueue(block);
    return;
  }
  if (queued) dequeue(block);
  turn_empty(block);
}

PagedTree::Block PagedTree::take_slot() {
  make_empty(0);
  const Block block = victim(0);
  dequeue(block);
  --empty_[0];
  Data& b = blocks_[block];
  b.priority = kFull;
  b.refs = 1;
  locks_[block] = 1;
  return block;
}

void PagedTree::bring_up(Block block) {
  make_empty(0);
  Data& b = blocks_[block];
  KV_ASSERT(b.level > 0 && b.refs > 0, "block {} need not be brought up", block);
  --held_[b.level];
  if (!last(b.level)) dequeue(block);
  exchange(block, victim(0));
  ++locks_[block];
}

void PagedTree::copy_out(Block source, Block block, std::uint32_t tokens) {
  copy(source, block, tokens);
  if (on_gpu(source)) unlock(source);
  let_go(source);
}

// ---- slots
// ---------------------------------------------------------------------------------------

std::uint32_t PagedTree::room_below(std::uint32_t level) const {
  std::uint32_t out = 0;
  while (++level < kLevels) out += slots_[level] - held_[level];
  return out;
}

/// The front of the queue, or where nothing below takes what is held the first that is not.
PagedTree::Block PagedTree::next_victim(std::uint32_t level) const {
  if (room_below(level) > 0) return victim(level);
  Block block = queues_.first(first_queue(level) + kFull);
  while (block != IndexLists::kEnd && blocks_[block].refs > 0) block = queues_.next(block);
  KV_ASSERT(block != IndexLists::kEnd, "level {} is full of held blocks", level);
  return block;
}

/// StorageManager._prepare_free_slots().
void PagedTree::make_empty(std::uint32_t level) {
  if (has_empty(level)) return;
  const Block block = next_victim(level);
  if (room_below(level) == 0) return drop(block);
  make_empty(level + 1);
  if (!empty(block)) move_down(block);  // else it stood behind one that was dropped
}

/// remove_subtree().
void PagedTree::drop(Block block) {
  ++counters_[level_of(block)].given_up;
  leave_with_all_behind(block);
  for (const Block gone : scratch_) {
    if (blocks_[gone].refs > 0) continue;
    dequeue(gone);
    turn_empty(gone);
  }
}

void PagedTree::turn_empty(Block block) {
  blocks_[block].priority = kEmpty;
  enqueue(block);
  ++empty_[level_of(block)];
}

void PagedTree::move_down(Block block) {
  const std::uint32_t level = level_of(block);
  const bool held = blocks_[block].refs > 0;
  counters_[level].given_up += stamp(block) > 0 ? 1 : 0;
  dequeue(block);
  exchange(block, victim(level + 1));
  ++counters_[level + 1].taken;
  held_[level] -= held ? 1 : 0;
  held_[level + 1] += held ? 1 : 0;
  if (!held || !last(level + 1)) enqueue(block);
}

/// Its content is copied, and its slot is empty. Precondition: it is in no queue.
void PagedTree::exchange(Block block, Block empty) {
  dequeue(empty);
  --empty_[level_of(empty)];
  copies_.copy(place_of(block), place_of(empty), config_.block_tokens);
  swap_places(block, empty);
  turn_empty(empty);
}

void PagedTree::check_drained() const {
  for (std::uint32_t level = 0; level < kLevels; ++level) {
    KV_ASSERT(free_[level] == slots_[level] && held_[level] == 0,
              "{} of {} blocks of level {} have no user, {} are held", free_[level], slots_[level],
              level, held_[level]);
  }
}

}  // namespace spillway
