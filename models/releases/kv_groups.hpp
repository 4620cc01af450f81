// KV cache groups: how vLLM divides the layers of a model that has sliding-window layers beside
// full attention (vllm/v1/core/kv_cache_utils.py, kv_cache_interface.py).
//
// All groups have the same number of layers, so that a page, the blocks of a group's layers for the
// same tokens, has the same bytes in each, and one pool serves them all. Groups of one kind of
// layer need pages for the same tokens; those of sliding layers give theirs back once they lie
// outside the window. What holds the KV of a block of tokens is then one page per group.
#pragma once

#include <algorithm>
#include <cstdint>

namespace spillway {

struct ModelSpec;

struct KvGroups {
  std::uint32_t full = 1;
  std::uint32_t sliding = 0;  ///< their numbers come first: these models begin with such a layer
  std::uint32_t window = 0;   ///< tokens that a sliding layer reads, the current one included
  std::uint32_t layers = 0;   ///< of each group, padding included; 0: not known

  std::uint32_t count() const { return sliding + full; }
  /// One group of full attention is the plain case, and has code of its own.
  bool hybrid() const { return sliding > 0; }

  /// Leading blocks that no token behind the first `computed` reads in a sliding layer.
  std::uint32_t skipped(std::uint32_t computed, std::uint32_t block_tokens) const {
    return computed < window ? 0 : (computed - window + 1) / block_tokens;
  }
  /// Blocks in a row that a prefix hit needs in a sliding group: what the next token reads.
  std::uint32_t hit_blocks(std::uint32_t block_tokens) const {
    return (window - 1 + block_tokens - 1) / block_tokens;
  }
  /// Pages that bring the first `blocks` blocks back: all of full groups, the others' window.
  std::uint32_t loaded(std::uint32_t blocks, std::uint32_t block_tokens) const {
    if (!hybrid()) return full * blocks;
    return full * blocks + sliding * std::min(blocks, hit_blocks(block_tokens));
  }
  /// The most pages of one sliding group that a request of up to `tokens` tokens holds, when
  /// `in_flight` tokens may be scheduled beyond those whose step has ended. One more than they
  /// fill: a window need not begin with a block. vLLM sizes pools and admits by this bound.
  std::uint64_t bound(std::uint64_t tokens, std::uint64_t in_flight,
                      std::uint32_t block_tokens) const {
    const std::uint64_t held = std::min(window - 1 + in_flight, tokens);
    return (held + block_tokens - 1) / block_tokens + 1;
  }
};

/// The groups of a model; one where all its layers are alike.
KvGroups kv_groups_of(const ModelSpec& model);

}  // namespace spillway
