// The memory of TensorRT-LLM's KV cache manager V2, under the tree of V1: the GPU, host memory and
// a disk, each block on one of them (tensorrt_llm/runtime/kv_cache_manager_v2: _page.py,
// _storage_manager.py, _eviction_controller, main of 2026).
//
// A block is locked by the active requests that have it, and then on the GPU; held by suspended
// ones, and then not dropped, but evicted from any level before the last; else it is in the tree,
// or an empty slot. What is evicted goes one level down, to the back of the queue there; what
// leaves the tree and has no request is empty at once. No priorities: upstream passes none on.
//
// Model: slots are made empty one by one; upstream evicts for a whole allocation at once.
#pragma once

#include <span>

#include "models/engine/stores/reuse_tree.hpp"

namespace spillway {

class PagedTree final : public ReuseTree {
 public:
  PagedTree(const Config& config, const Workload& workload, Copies& copies);

  std::uint32_t locked_blocks() const { return used_blocks(); }
  /// GPU slots that new content may have, if those who have `blocks` and `source` (perhaps none)
  /// want to go on having them, and those on the GPU there.
  std::int64_t room(std::span<const Block> blocks, Block source) const;

  // ---- requests that have a block
  /// One more has it, and is suspended.
  void hold(Block block);
  /// Below the GPU: it is wanted, and to be evicted behind others. Precondition: held.
  void touch(Block block);
  /// It becomes active. Precondition: the block is on the GPU.
  void lock(Block block);
  /// It is suspended.
  void unlock(Block block);
  /// It was suspended, and has the block no longer.
  void let_go(Block block);
  /// A block of the GPU for new content, for one that is active. Precondition: there is room.
  Block take_slot();
  /// What lies below comes to the GPU, and is locked. Precondition: held, and there is room.
  void bring_up(Block block);
  /// The first tokens of `source` are written into `block`, and it is let go of. Precondition:
  /// locked where it is on the GPU, and held.
  void copy_out(Block source, Block block, std::uint32_t tokens);

  void check_drained() const;

 private:
  bool last(std::uint32_t level) const { return level == last_; }
  bool empty(Block block) const { return blocks_[block].priority == kEmpty; }
  bool has_empty(std::uint32_t level) const { return !queues_.empty(first_queue(level)); }
  static std::uint32_t first_queue(std::uint32_t level) { return level * (kMostRetention + 1); }
  /// Of the levels below, slots less held blocks.
  std::uint32_t room_below(std::uint32_t level) const;
  Block next_victim(std::uint32_t level) const;
  void make_empty(std::uint32_t level);
  void drop(Block block);
  void turn_empty(Block block);
  void move_down(Block block);
  void exchange(Block block, Block empty);

  // By priority, so that empty slots come before all others.
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::uint32_t kFull = 1;
  std::uint32_t last_;
  std::array<std::uint32_t, kLevels> slots_;
  std::array<std::uint32_t, kLevels> held_{};   ///< and not locked
  std::array<std::uint32_t, kLevels> empty_{};  ///< slots
  std::vector<std::uint32_t> locks_;            ///< active requests that have it
};

}  // namespace spillway
