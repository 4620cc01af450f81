// What an engine is told: sizes, limits and the switches of its release.
#pragma once

#include <cstdint>

#include "models/engine/connectors/load_semantics.hpp"
#include "models/engine/step_overlap.hpp"
#include "models/engine/stores/kv_groups.hpp"
#include "sim/units.hpp"

namespace spillway {

/// What has to be in HBM when a request runs.
enum class Residency : std::uint8_t {
  kFull,       ///< all its blocks
  kStreaming,  ///< those that it writes; the others are read from below in each step
};

inline constexpr std::int64_t kWholeShare = 1'000'000;

/// How a step reads blocks from below HBM. Shares are in parts per million.
struct ColdDecode {
  std::int64_t selected_ppm = kWholeShare;  ///< of a decode's cold tokens, those that it reads
  std::int64_t page_cache_ppm = 0;          ///< of these, those found in a page cache on the GPU
  StreamForm form = StreamForm::kOverlapped;
  std::int64_t efficiency_ppm = kStreamEfficiencyPpm;
  std::uint32_t copies_per_block = 1;  ///< a block read layer by layer comes in this many pieces
};

/// What requests of one kind (a tenant of the trace) ask for.
struct RequestClass {
  std::int32_t priority = 0;        ///< a smaller value goes first; vLLM's `priority`
  bool offload = true;              ///< off: nothing is loaded for it, nothing of it goes below
  std::uint32_t store_limit = ~0U;  ///< leading tokens that may go below HBM
};

/// vLLM v0's swapping (vllm/core/scheduler.py, block_manager.py @ db66e018ea).
struct SwapConfig {
  std::uint32_t cpu_blocks = 0;  ///< of --swap-space, on each GPU's share of the host
  bool swap = false;             ///< preemption_mode swap; else preempted requests recompute
};

enum class EngineFamily : std::uint8_t { kVllmV1, kVllmV0 };

/// Names follow vLLM's own flags; the switches are those of the engine specification, by upstream
/// change. A preset fills them in (models/engine/presets).
struct EngineConfig {
  std::uint32_t block_tokens = 16;
  std::uint32_t num_gpu_blocks = 0;  ///< v1's null block included, as vLLM counts
  std::uint32_t max_num_seqs = 256;
  std::uint32_t max_num_batched_tokens = 2048;
  std::uint32_t max_model_len = 0;                 ///< prompt + output; 0: no limit
  std::uint32_t long_prefill_token_threshold = 0;  ///< 0: off
  double watermark = 0;                            ///< share of blocks kept free when admitting
  Bytes block_bytes{0};                            ///< KV of one block on one rank, its layers
  std::uint32_t copies_per_block = 1;              ///< contiguous pieces one block is copied in

  EngineFamily family = EngineFamily::kVllmV1;
  std::uint32_t max_num_scheduled_tokens = 0;  ///< of one step; 0: max_num_batched_tokens
  bool chunked_prefill = true;                 ///< off: a prompt is computed in one step, or waits
  bool priority_scheduling = false;            ///< by (priority, arrival); else first come
  bool defer_block_free = false;  ///< #45357: blocks of preempted requests return with the step
                                  ///< in flight
  std::uint32_t tensor_parallel = 1;
  std::uint32_t pipeline_parallel = 1;
  std::uint32_t data_parallel = 1;

  bool async_scheduling = false;  ///< two batches in flight: plan one while one computes
  bool enable_prefix_caching = true;
  bool offload_prompt_only = true;     ///< d63108fb18
  bool unhashed_front = true;          ///< 520828789c: unhashed blocks freed to the queue's front
  bool reserve_full_isl = true;        ///< dc78c2c933: admit only what fits with its whole prompt
  bool async_load_reservation = true;  ///< 3b3d5287fa: loads leave room for prefills under way
  bool convoy = true;                  ///< wait for another request's load of the same blocks
  bool store_defer_next_step =
      true;  ///< 2a4dbe24ea: stores are submitted when the next step starts

  // OffloadingConnector.
  std::uint32_t blocks_per_chunk = 1;      ///< HBM blocks that the tier keeps and moves as one
  std::uint32_t store_threshold = 0;       ///< times that a chunk is seen before it is stored
  bool threshold_counts_offers = true;     ///< #52227: offers count; before, look-ups
  std::uint32_t max_tracker_size = 64000;  ///< chunks whose sightings are remembered
  std::uint32_t max_offload_tokens = ~0U;  ///< leading tokens of a request that may go below
  bool small_page_kernel = true;  ///< loads of many small pages are copied by SMs, not by DMA
  bool mla_single_copy = true;    ///< 7eca0e1a64: ranks of an MLA model share one copy below
  bool simple_offload = false;    ///< SimpleCPUOffloadConnector instead
  bool lazy_offload = false;      ///< it stores what HBM is about to lose, not what is computed
  SwapConfig swap;                ///< v0 only

  bool hybrid_kv_cache = false;  ///< sliding layers keep their window; off: all are charged in full
  KvGroups groups;               ///< several only with it; block_bytes is then one group's page

  LoadSemantics load = LoadSemantics::kAsync;  ///< who waits for a load from below
  std::uint32_t layers = 1;                    ///< that have KV; pieces of a layer-wise load
  Residency residency = Residency::kFull;
  ColdDecode cold;                 ///< streaming only
  std::uint32_t token_budget = 0;  ///< streaming only: tokens a sequence keeps KV for; 0: all

  /// Blocks that requests can have: all but v1's null block.
  std::uint32_t usable_blocks() const {
    return family == EngineFamily::kVllmV0 ? num_gpu_blocks : num_gpu_blocks - 1;
  }
};

}  // namespace spillway
