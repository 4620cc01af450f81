#include "models/engine/stores/v0_block_manager.hpp"

#include <cmath>

#include "sim/error.hpp"

namespace spillway {

V0BlockManager::V0BlockManager(std::uint32_t block_tokens, std::uint32_t gpu_blocks,
                               std::uint32_t cpu_blocks, double watermark)
    : block_tokens_(block_tokens),
      watermark_blocks_(static_cast<std::uint32_t>(std::floor(watermark * gpu_blocks))),
      gpu_{gpu_blocks, gpu_blocks},
      cpu_{cpu_blocks, cpu_blocks} {}

std::size_t V0BlockManager::index_of_table(Handle h) const {
  const auto i = static_cast<std::size_t>(h);
  KV_ASSERT(i < tables_.size() && tables_[i].tokens > 0, "request {} has no block table", i);
  return i;
}

AllocStatus V0BlockManager::can_allocate(std::uint32_t tokens) const {
  const std::uint32_t needed = blocks_for(tokens);
  if (needed + watermark_blocks_ > gpu_.total) return AllocStatus::kNeverFits;
  return needed + watermark_blocks_ <= gpu_.free ? AllocStatus::kOk : AllocStatus::kLater;
}

void V0BlockManager::allocate(Handle h, std::uint32_t tokens) {
  const auto i = static_cast<std::size_t>(h);
  if (i >= tables_.size()) tables_.resize(i + 1);
  KV_ASSERT(tables_[i].tokens == 0, "request {} has a block table already", i);
  KV_ASSERT(blocks_for(tokens) <= gpu_.free, "{} tokens into {} free blocks", tokens, gpu_.free);
  gpu_.free -= blocks_for(tokens);
  tables_[i] = {tokens, false};
}

/// Blocks that the unseen tokens are written to. Without any, the last block counts where it has
/// room (get_num_blocks_touched_by_append_slots).
std::uint32_t V0BlockManager::touched(const Table& t, std::uint32_t known) const {
  const std::uint32_t unseen = known - t.tokens;
  const std::uint32_t room = block_tokens_ - t.tokens % block_tokens_;
  if (unseen == 0) return room == block_tokens_ ? 0 : 1;
  return unseen <= room ? 1 : 1 + blocks_for(unseen - room);
}

bool V0BlockManager::can_append(Handle h, std::uint32_t known) const {
  return touched(table(h), known) <= gpu_.free;
}

void V0BlockManager::append(Handle h, std::uint32_t known) {
  Table& t = table(h);
  KV_ASSERT(!t.on_cpu && known >= t.tokens, "tokens appended to blocks on the CPU");
  const std::uint32_t more = blocks_for(known) - blocks_for(t.tokens);
  KV_ASSERT(more <= gpu_.free, "{} blocks more of {} free ones", more, gpu_.free);
  gpu_.free -= more;
  t.tokens = known;
}

std::uint32_t V0BlockManager::needed_to_swap(Handle h, std::uint32_t known) const {
  const Table& t = table(h);
  return t.tokens / block_tokens_ + touched(t, known);
}

AllocStatus V0BlockManager::can_swap_in(Handle h, std::uint32_t known) const {
  const std::uint32_t needed = needed_to_swap(h, known);
  if (needed > gpu_.total) return AllocStatus::kNeverFits;
  return needed + watermark_blocks_ <= gpu_.free ? AllocStatus::kOk : AllocStatus::kLater;
}

std::uint32_t V0BlockManager::swap_out(Handle h) {
  Table& t = table(h);
  const std::uint32_t blocks = blocks_for(t.tokens);
  KV_ASSERT(!t.on_cpu && blocks <= cpu_.free, "{} blocks to {} free ones on the CPU", blocks,
            cpu_.free);
  t.on_cpu = true;
  gpu_.free += blocks;
  cpu_.free -= blocks;
  return blocks;
}

std::uint32_t V0BlockManager::swap_in(Handle h) {
  Table& t = table(h);
  const std::uint32_t blocks = blocks_for(t.tokens);
  KV_ASSERT(t.on_cpu && blocks <= gpu_.free, "{} blocks to {} free ones on the GPU", blocks,
            gpu_.free);
  t.on_cpu = false;
  gpu_.free -= blocks;
  cpu_.free += blocks;
  return blocks;
}

void V0BlockManager::free(Handle h) {
  Table& t = table(h);
  (t.on_cpu ? cpu_ : gpu_).free += blocks_for(t.tokens);
  t = {};
}

void V0BlockManager::check_drained() const {
  KV_ASSERT(gpu_.used() == 0 && cpu_.used() == 0, "{} GPU and {} CPU blocks held by nobody",
            gpu_.used(), cpu_.used());
}

}  // namespace spillway
