// What connectors beside vLLM's own are told: LMCache in process and multi-process and llm-d's FS
// backend, which keep chunks, and Dynamo's KVBM; others in files of their own.
#pragma once

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
  kKvbm,       ///< Dynamo's KV block manager v1: blocks, every tier read straight into HBM
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

/// Dynamo's block manager: DYN_KVBM_*, and constants of lib/llm/src/block_manager/offload.rs.
struct KvbmConfig {
  std::uint32_t max_batch = 16;     ///< max_transfer_batch_size, blocks
  std::uint32_t max_transfers = 4;  ///< max_concurrent_transfers, of each hop
  bool filter = true;               ///< disk_offload_filter
  std::uint32_t filter_min = 2;
  Duration filter_decay = std::chrono::seconds(600);
  std::uint32_t filter_entries = 1'000'000;
};

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
