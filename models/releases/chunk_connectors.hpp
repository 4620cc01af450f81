// What connectors beside vLLM's own are told: LMCache in process and multi-process and llm-d's FS
// backend, which keep chunks, and Dynamo's KVBM; others in files of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/units.hpp"

namespace spillway {

/// What carries KV below HBM.
enum class ConnectorKind : std::uint8_t {
  kNative,     ///< vLLM's OffloadingConnector
  kSimple,     ///< its SimpleCPUOffloadConnector
  kLmcache,    ///< LMCacheConnectorV1: in process, loads and stores within the step
  kLmcacheMp,  ///< LMCacheMPConnector: a server beside the engine, both ways asynchronous
  kLlmdFs,     ///< llm-d's FS backend: files straight from HBM
  kHybrid,     ///< MultiConnector: vLLM's native one first, then LMCache multi-process
  kAibrix,     ///< AIBrix's KV cache: the worker looks up, loads and stores within the step
  kKvbm,       ///< Dynamo's KV block manager: blocks, every tier read straight into HBM
  kFlexkv,     ///< FlexKV: radix trees over host memory, a disk and a remote store
  kMooncake,   ///< Mooncake Store, straight from HBM: memory, then an SSD
};
inline constexpr std::string_view kConnectorNames[] = {
    "native", "simple", "lmcache", "lmcache-mp", "llmd-fs",
    "hybrid", "aibrix", "kvbm",    "flexkv",     "mooncake"};

/// lmcache/v1/config.py.
struct LmcacheConfig {
  std::uint32_t chunk_tokens = 256;
  bool save_decode_cache = false;
  bool save_unfull_chunk = false;
  std::uint32_t min_retrieve_tokens = 0;
  bool local_cpu = true;  ///< off: host memory only stages
  Duration blocking_timeout = std::chrono::seconds(10);
};

/// Flags of `lmcache server`, and lmcache.mp.* of the connector.
struct LmcacheMpConfig {
  std::uint32_t chunk_tokens = 256;
  bool save_decode_cache = false;
  std::int64_t watermark_ppm = 800'000;  ///< eviction_trigger_watermark, of the capacity
  std::int64_t ratio_ppm = 200'000;      ///< eviction_ratio, of the keys
  bool skip_l1 = false;                  ///< l2_store_policy
  bool retain = false;                   ///< l2_prefetch_policy
  std::uint32_t prefetches = 8;          ///< l2_prefetch_max_in_flight
  bool resume_load = true;               ///< preempted requests look up again
};

/// llmd_fs_backend.
struct LlmdConfig {
  std::uint32_t block_size = 256;
  std::uint32_t threads = 64;
  std::int64_t read_preferring_ppm = 750'000;
  std::int64_t max_write_queued_us = 30'000'000;  ///< max_write_queued_seconds; 0: no limit
  bool async_lookup = false;
};

/// Which resting block a tier of KVBM v2 gives up first (lib/kvbm-logical/src/pools/inactive/).
enum class InactivePool : std::uint8_t { kLru, kMultiLru, kLineage };
inline constexpr std::string_view kInactivePoolNames[] = {"lru", "multi_lru", "lineage"};

/// What keeps a block of KVBM v2 from a hop (lib/kvbm-config/src/offload.rs, PolicyType).
struct KvbmPolicies {
  bool presence = true;   ///< it is there, or on its way; neither of both: pass_all
  bool frequent = false;  ///< too few uses, as well: presence_lfu
};

/// Dynamo's block manager: DYN_KVBM_*, and constants of lib/llm/src/block_manager/offload.rs.
struct KvbmConfig {
  std::uint32_t max_batch = 16;     ///< max_transfer_batch_size, blocks
  std::uint32_t max_transfers = 4;  ///< max_concurrent_transfers, of each hop
  bool filter = true;               ///< disk_offload_filter
  std::uint32_t filter_min = 2;
  Duration filter_decay = std::chrono::seconds(600);
  std::uint32_t filter_entries = 1'000'000;

  bool v2 = false;  ///< the rules of lib/kvbm-engine: what stands below, and no filter
  KvbmPolicies host;
  KvbmPolicies disk{true, true};
  std::uint32_t min_uses = 8;             ///< min_lfu_count, which a count must exceed
  std::uint32_t use_entries = 1U << 21U;  ///< lfu_entries
  InactivePool inactive = InactivePool::kLru;
  std::array<std::uint32_t, 3> levels = {3, 8, 15};  ///< multi_lru_thresholds
};
/// With a preset of v2: its copies are of one batch, one at a time (kvbm-engine/docs/offload.md).
constexpr KvbmConfig kvbm_v2() {
  KvbmConfig out;
  out.v2 = true;
  out.max_batch = 64;
  out.max_transfers = 1;
  out.inactive = InactivePool::kLineage;
  return out;
}

constexpr bool has_mp(ConnectorKind kind) {
  return kind == ConnectorKind::kLmcacheMp || kind == ConnectorKind::kHybrid;
}

/// They keep chunks.
constexpr bool keeps_chunks(ConnectorKind kind) {
  return kind >= ConnectorKind::kLmcache && kind <= ConnectorKind::kAibrix;
}

/// Stores with rules and tiers of their own, which a preset brings.
constexpr bool attached(ConnectorKind kind) {
  return kind >= ConnectorKind::kKvbm && kind <= ConnectorKind::kMooncake;
}

/// A preset brings it, and no other has it.
constexpr bool of_preset(ConnectorKind kind) {
  return attached(kind) || kind == ConnectorKind::kAibrix;
}

/// Engines with them take turns at one instant (chunks/settlement.hpp).
constexpr bool takes_turns(ConnectorKind kind) {
  return keeps_chunks(kind) || kind == ConnectorKind::kFlexkv || kind == ConnectorKind::kMooncake;
}

}  // namespace spillway
