// What connectors that keep chunks are told: LMCache in process and multi-process, llm-d's FS
// backend; AIBrix's KV cache in a file of its own. Names follow their own settings.
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
};
inline constexpr std::string_view kConnectorNames[] = {"native",  "simple", "lmcache", "lmcache-mp",
                                                       "llmd-fs", "hybrid", "aibrix"};

/// lmcache/v1/config.py.
struct LmcacheConfig {
  std::uint32_t chunk_tokens = 256;
  bool save_decode_cache = false;
  bool save_unfull_chunk = false;
  std::uint32_t min_retrieve_tokens = 0;
  bool local_cpu = true;  ///< off: host memory only stages
  Duration blocking_timeout = std::chrono::seconds(10);
  bool recompute_failed = false;  ///< kv_load_failure_policy; else such a request fails
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

constexpr bool has_mp(ConnectorKind kind) {
  return kind == ConnectorKind::kLmcacheMp || kind == ConnectorKind::kHybrid;
}

/// They keep chunks, and engines with them take turns at one instant (chunks/settlement.hpp).
constexpr bool keeps_chunks(ConnectorKind kind) {
  return kind >= ConnectorKind::kLmcache;
}

}  // namespace spillway
