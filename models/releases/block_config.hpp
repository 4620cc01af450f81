// What stores and all above them are told: the blocks, and how much steps may take. Names follow
// vLLM's own flags.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/releases/kv_groups.hpp"
#include "sim/units.hpp"

namespace spillway {

/// Limits of a step, and of how many may be in flight.
struct StepLimits {
  std::uint32_t max_num_seqs = 256;
  std::uint32_t max_num_batched_tokens = 2048;
  std::uint32_t max_num_scheduled_tokens = 0;      ///< of one step; 0: max_num_batched_tokens
  std::uint32_t max_model_len = 0;                 ///< prompt + output; 0: no limit
  std::uint32_t long_prefill_token_threshold = 0;  ///< 0: off
  bool chunked_prefill = true;    ///< off: a prompt is computed in one step, or waits
  bool async_scheduling = false;  ///< two batches in flight: plan one while one computes
  std::uint32_t pipeline_parallel = 1;

  /// vLLM keeps as many batches in flight as there are stages (vllm/config/vllm.py,
  /// max_concurrent_batches @ 017e9f4448), or two where it schedules ahead.
  std::uint32_t batches_in_flight() const {
    return std::max(async_scheduling ? 2U : 1U, pipeline_parallel);
  }
};

struct BlockConfig : StepLimits {
  std::uint32_t block_tokens = 16;
  std::uint32_t num_gpu_blocks = 0;    ///< v1's null block included, as vLLM counts
  Bytes block_bytes{0};                ///< KV of one block on one rank, its layers
  std::uint32_t copies_per_block = 1;  ///< contiguous pieces one block is copied in
  bool enable_prefix_caching = true;
  bool unhashed_front = true;    ///< 520828789c: unhashed blocks freed to the queue's front
  bool hybrid_kv_cache = false;  ///< sliding layers keep their window; off: all are charged in full
  KvGroups groups;               ///< several only with it; block_bytes is then one group's page
};

}  // namespace spillway
