// What an engine is told: sizes, limits and the switches of its release.
#pragma once

#include <cstdint>

#include "models/engine/load_semantics.hpp"
#include "models/engine/step_overlap.hpp"
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

/// Names follow vLLM's own flags; the switches are those of the engine specification, by upstream
/// change. A preset fills them in (scenarios/presets).
struct EngineConfig {
  std::uint32_t block_tokens = 16;
  std::uint32_t num_gpu_blocks = 0;  ///< the null block included, as vLLM counts
  std::uint32_t max_num_seqs = 256;
  std::uint32_t max_num_batched_tokens = 2048;
  std::uint32_t max_model_len = 0;                 ///< prompt + output; 0: no limit
  std::uint32_t long_prefill_token_threshold = 0;  ///< 0: off
  double watermark = 0;                            ///< share of blocks kept free when admitting
  Bytes block_bytes{0};                            ///< KV bytes of one block over all layers
  std::uint32_t copies_per_block = 1;              ///< contiguous pieces one block is copied in

  bool async_scheduling = false;  ///< two batches in flight: plan one while one computes
  bool enable_prefix_caching = true;
  bool offload_prompt_only = true;     ///< d63108fb18
  bool unhashed_front = true;          ///< 520828789c: unhashed blocks freed to the queue's front
  bool reserve_full_isl = true;        ///< dc78c2c933: admit only what fits with its whole prompt
  bool async_load_reservation = true;  ///< 3b3d5287fa: loads leave room for prefills under way
  bool convoy = true;                  ///< wait for another request's load of the same blocks
  bool store_defer_next_step =
      true;  ///< 2a4dbe24ea: stores are submitted when the next step starts

  LoadSemantics load = LoadSemantics::kAsync;  ///< who waits for a load from below
  std::uint32_t layers = 1;                    ///< that have KV; pieces of a layer-wise load
  Residency residency = Residency::kFull;
  ColdDecode cold;                 ///< streaming only
  std::uint32_t token_budget = 0;  ///< streaming only: tokens a sequence keeps KV for; 0: all
};

}  // namespace spillway
