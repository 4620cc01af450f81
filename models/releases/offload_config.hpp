// What connectors are told: who waits for loads, and what goes below HBM.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/compute/step_overlap.hpp"
#include "models/releases/aibrix_config.hpp"
#include "models/releases/block_config.hpp"
#include "models/releases/chunk_connectors.hpp"
#include "models/releases/connector_costs.hpp"
#include "models/releases/flexkv_config.hpp"

namespace spillway {

/// When a request whose prefix is being loaded may run, and who waits for the load meanwhile.
enum class LoadSemantics : std::uint8_t {
  /// The request is set aside until a step boundary finds its load ended; nobody else waits (vLLM's
  /// asynchronous connectors, WAITING_FOR_REMOTE_KVS; KVBM).
  kAsync,
  /// It runs in the step that plans the load, and that step's forward waits for its loads:
  /// everybody
  /// in the batch waits (LMCache in process: retrieve() before the forward).
  kBlocking,
  /// The load runs beside the step that plans it; the request runs in the next one, whose forward
  /// waits for every load submitted by then (TensorRT-LLM: copies on a stream of their own, on
  /// which
  /// the compute stream waits before the forward).
  kBarrier,
  /// It runs in the step that plans the load, and each layer waits for its own piece of it (SGLang
  /// HiCache's LayerDoneCounter, FlexKV); everybody in the batch is delayed by a late piece.
  kLayerwise,
};

struct LoadSemanticsRow {
  std::string_view name;
  std::string_view summary;
  LoadSemantics value;
};
std::span<const LoadSemanticsRow> load_semantics();
std::string_view name_of(LoadSemantics semantics);

/// The request is given tokens in the step that plans its load.
constexpr bool runs_with_load(LoadSemantics s) {
  return s == LoadSemantics::kBlocking || s == LoadSemantics::kLayerwise;
}
/// A set-aside request may be scheduled before its load has ended: its step waits instead.
constexpr bool runs_behind_load(LoadSemantics s) {
  return s == LoadSemantics::kBarrier;
}

/// The switches of releases are those of the engine specification, by upstream change.
struct OffloadConfig : BlockConfig {
  LoadSemantics load = LoadSemantics::kAsync;  ///< who waits for a load from below
  std::uint32_t layers = 1;                    ///< that have KV; pieces of a layer-wise load
  bool offload_prompt_only = true;             ///< d63108fb18
  bool convoy = true;                      ///< wait for another request's load of the same blocks
  bool store_defer_next_step = true;       ///< 2a4dbe24ea: stores are submitted when the next step
                                           ///< starts
  std::uint32_t blocks_per_chunk = 1;      ///< HBM blocks that the tier keeps and moves as one
  std::uint32_t store_threshold = 0;       ///< times that a chunk is seen before it is stored
  bool threshold_counts_offers = true;     ///< #52227: offers count; before, look-ups
  std::uint32_t max_tracker_size = 64000;  ///< chunks whose sightings are remembered
  std::uint32_t max_offload_tokens = ~0U;  ///< leading tokens of a request that may go below
  bool small_page_kernel = true;  ///< loads of many small pages are copied by SMs, not by DMA
  bool mla_single_copy = true;    ///< 7eca0e1a64: ranks of an MLA model share one copy below
  ConnectorKind connector = ConnectorKind::kNative;
  LmcacheConfig lmcache;
  LmcacheMpConfig lmcache_mp;
  LlmdConfig llmd;
  KvbmConfig kvbm;
  FlexkvConfig flexkv;
  AibrixConfig aibrix;
  bool recompute_failed = false;  ///< kv_load_failure_policy; else such a request fails
  bool lazy_offload = false;      ///< it stores what HBM is about to lose, not what is computed
  ConnectorCosts costs;           ///< of the connector itself

  bool simple_offload() const { return connector == ConnectorKind::kSimple; }
  bool is_kvbm() const { return connector == ConnectorKind::kKvbm; }
  bool is_flexkv() const { return connector == ConnectorKind::kFlexkv; }
  bool is_mooncake() const { return connector == ConnectorKind::kMooncake; }
  bool attached() const { return spillway::attached(connector); }
  bool is_aibrix() const { return connector == ConnectorKind::kAibrix; }
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

/// Where blocks of running requests may lie below HBM.
struct StreamingConfig {
  ColdDecode cold;
  std::uint32_t token_budget = 0;  ///< tokens a sequence keeps KV for; 0: all
};

}  // namespace spillway
