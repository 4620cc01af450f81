// What AIBrix's KV cache is told, by its own settings: AIBRIX_KV_CACHE_OL_* of
// vllm-project/aibrix, python/aibrix_kvcache/aibrix_kvcache/envs.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "sim/decimal.hpp"

namespace spillway {

/// Which blocks of L1 are written to L2 (l2_cache_ingestion_type).
enum class Ingestion : std::uint8_t {
  kHot,      ///< those that were used again
  kAll,      ///< those that come new
  kEvicted,  ///< those that leave
};
inline constexpr std::string_view kIngestions[] = {"hot", "all", "evicted"};

struct AibrixConfig {
  std::uint32_t chunk_tokens = 512;  ///< of one read or write of the connector
  std::uint32_t skip_blocks = 8;     ///< shorter pieces of a prompt are not looked for
  Decimal small_fifo_ratio{3, -1};   ///< S3-FIFO: share of the small queue
  std::uint32_t promo_threshold = 1;
  Ingestion ingestion = Ingestion::kHot;
  std::uint32_t max_inflight_tokens = 0;  ///< of writes to L2; 0: the worker waits for each
  Decimal per_token_timeout_ms{20, 0};    ///< of a read from L2
  std::uint32_t double_get_blocks = 4;    ///< fewest blocks that L2 is asked for
  Decimal double_get_ratio{1, -1};        ///< and share of the chunk

  /// Blocks of a chunk.
  std::uint32_t chunk_blocks(std::uint32_t block_tokens) const {
    return std::max(kLeastChunk, chunk_tokens / block_tokens);
  }
  /// Writes to L2 that may be under way; 0: the worker waits for each.
  std::uint32_t quota_blocks(std::uint32_t block_tokens) const {
    const std::uint32_t quota = max_inflight_tokens / block_tokens;
    return quota == 0 ? 0 : std::max(quota, 2 * chunk_blocks(block_tokens));
  }
  /// L2 is asked for the `missing` blocks of a chunk of `blocks`.
  bool asks_twice(std::uint32_t missing, std::uint32_t blocks) const {
    return missing >= std::max(1U, double_get_blocks) &&
           missing >= ceil_times(blocks, double_get_ratio);
  }

  static constexpr std::uint32_t kLeastChunk = 4;
};

}  // namespace spillway
