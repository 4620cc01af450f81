// What SGLang is told. Names follow its own flags (python/sglang/srt/server_args.py @ 9fec359a);
// a page is a block of BlockConfig.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/units.hpp"

namespace spillway {

/// When KV goes to host memory (HiCache).
enum class HicacheWrite : std::uint8_t {
  kThrough,    ///< as it is inserted
  kSelective,  ///< as it is inserted for the second time
  kBack,       ///< when the device evicts it, which then waits
};
inline constexpr std::string_view kHicacheWriteNames[] = {"write_through",
                                                          "write_through_selective", "write_back"};

/// Which node of the radix cache leaves first (python/sglang/srt/mem_cache/evict_policy.py).
enum class RadixEviction : std::uint8_t { kLru, kLfu, kSlru, kFifo, kMru, kFilo };
inline constexpr std::string_view kRadixEvictionNames[] = {"lru",  "lfu", "slru",
                                                           "fifo", "mru", "filo"};

/// In which order prompts are admitted (python/sglang/srt/managers/schedule_policy.py).
enum class QueuePolicy : std::uint8_t {
  kArrival,
  kLongestPrefix,
  kHeaviestBranch,  ///< depth first through the cache, where most wait first
  kLongestOutput,
  kRandom,
};
inline constexpr std::string_view kQueuePolicyNames[] = {"fcfs", "lpm", "dfs-weight", "lof",
                                                         "random"};

inline constexpr std::int64_t kNano = 1'000'000'000;

/// When reading ahead from storage may be stopped, so that its request is admitted.
enum class PrefetchStop : std::uint8_t { kBestEffort, kWaitComplete, kTimeout };
inline constexpr std::string_view kPrefetchStopNames[] = {"best_effort", "wait_complete",
                                                          "timeout"};

/// --hicache-storage-prefetch-policy, and what hicache_storage_backend_extra_config may say.
struct PrefetchRules {
  PrefetchStop stop = PrefetchStop::kTimeout;
  std::uint32_t threshold = 256;  ///< tokens; less is not read ahead
  Duration timeout_base = std::chrono::seconds(2);
  Duration timeout_per_ki_token = std::chrono::milliseconds(100);
  Duration timeout_max = std::chrono::seconds(30);
};

/// What --hicache-storage-backend calls a storage, by what it is made of.
struct StorageBackend {
  std::string_view name;
  std::string_view kind;  ///< of a tier
  std::string_view scope;
};
/// Of several with the same kind the first is written, all are read.
inline constexpr StorageBackend kStorageBackends[] = {
    {"file", "nvme", "instance"},  {"hf3fs", "fs", "cluster"},  {"mooncake", "kv", "cluster"},
    {"nixl", "object", "cluster"}, {"aibrix", "kv", "cluster"}, {"eic", "kv", "cluster"}};

struct SglangConfig {
  std::uint32_t max_running_requests = 2048;
  std::int64_t chunked_prefill_size = 8192;  ///< tokens; at most 0: prompts are never cut
  std::uint32_t max_prefill_tokens = 16384;
  QueuePolicy queue = QueuePolicy::kArrival;
  std::uint64_t seed = 0;                 ///< of a random queue
  bool mixed_chunks = false;              ///< decodes join a batch of prompts
  std::int64_t conservativeness = kNano;  ///< schedule_conservativeness, in 10^-9
  std::uint32_t max_new_tokens = 0;       ///< that requests ask for; 0: what they generate
  std::uint32_t context_length = 0;       ///< 0: no limit beside the pool's
  HicacheWrite write = HicacheWrite::kThrough;
  RadixEviction eviction = RadixEviction::kLru;
  bool mooncake = false;     ///< the storage behind host memory is Mooncake Store
  PrefetchRules prefetch{};  ///< where there is storage behind host memory
};

}  // namespace spillway
