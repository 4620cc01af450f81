// vLLM v0's two pools of plain blocks, one on the GPU and one on the CPU, and which request holds
// how many of which (vllm/core/block_manager.py, vllm/core/block/{block_table,naive_block}.py @
// db66e018ea). Without prefix caching a block has no identity, so that counts are enough.
//
// A block table holds tokens, not computed ones: the whole prompt from its allocation on, and each
// generated token from the step that computes its KV. `known` below are all tokens that the
// sequence has; those that the table does not hold yet are unseen, at most one here.
#pragma once

#include <cstdint>
#include <vector>

#include "models/requests/active_request.hpp"

namespace spillway {

enum class AllocStatus : std::uint8_t { kOk, kLater, kNeverFits };

class V0BlockManager {
 public:
  struct Pool {
    std::uint32_t total = 0;
    std::uint32_t free = 0;
    std::uint32_t used() const { return total - free; }
  };

  /// `watermark`: share of the GPU's blocks that admission and swap-in leave free.
  V0BlockManager(std::uint32_t block_tokens, std::uint32_t gpu_blocks, std::uint32_t cpu_blocks,
                 double watermark);

  /// Blocks of a whole sequence that has none: kNeverFits where even an empty pool is too small.
  AllocStatus can_allocate(std::uint32_t tokens) const;
  void allocate(Handle h, std::uint32_t tokens);
  /// So many tokens leave no block free, and room in their last one.
  bool takes_all(std::uint32_t tokens) const {
    return blocks_for(tokens) == gpu_.total && tokens % block_tokens_ != 0;
  }

  /// Upstream counts every block that an append touches as a new one, so that a sequence needs a
  /// free block to go on even where its last block has room.
  bool can_append(Handle h, std::uint32_t known) const;
  void append(Handle h, std::uint32_t known);

  /// Both ways count full blocks and those that appending the unseen tokens touches: one more than
  /// what is copied where the last block is full. Only the way in leaves the watermark.
  bool can_swap_out(Handle h, std::uint32_t known) const {
    return needed_to_swap(h, known) <= cpu_.free;
  }
  AllocStatus can_swap_in(Handle h, std::uint32_t known) const;
  /// Return the blocks to copy.
  std::uint32_t swap_out(Handle h);
  std::uint32_t swap_in(Handle h);

  /// Frees whatever the request holds, on either side.
  void free(Handle h);

  std::uint32_t held(Handle h) const { return blocks_for(table(h).tokens); }
  std::uint32_t needed_to_swap(Handle h, std::uint32_t known) const;
  /// It has tokens whose KV is yet to be computed together: a prompt, or one to compute again.
  bool prefills(Handle h, std::uint32_t known) const { return table(h).tokens == known; }

  const Pool& gpu() const { return gpu_; }
  const Pool& cpu() const { return cpu_; }
  std::uint32_t watermark_blocks() const { return watermark_blocks_; }

  /// Always-on invariants that are too slow for every step; called when a run ends.
  void check_drained() const;

 private:
  struct Table {
    std::uint32_t tokens = 0;  ///< 0: it has none
    bool on_cpu = false;
  };

  std::uint32_t blocks_for(std::uint32_t tokens) const {
    return (tokens + block_tokens_ - 1) / block_tokens_;
  }
  std::uint32_t touched(const Table& t, std::uint32_t known) const;
  std::size_t index_of_table(Handle h) const;
  const Table& table(Handle h) const { return tables_[index_of_table(h)]; }
  Table& table(Handle h) { return tables_[index_of_table(h)]; }

  std::uint32_t block_tokens_;
  std::uint32_t watermark_blocks_;
  Pool gpu_;
  Pool cpu_;
  std::vector<Table> tables_;  ///< by handle
};

}  // namespace spillway
