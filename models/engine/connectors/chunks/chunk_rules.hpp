// How tiers that keep chunks behave, as values.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/units.hpp"

namespace spillway {

enum class ChunkOrder : std::uint8_t {
  kLru,
  kLfu,   ///< least often used; among equals, longest so
  kFifo,  ///< uses do not count
  kMru,
  kNone,  ///< nothing ever leaves for another
  kRandom,
  kS3Fifo,  ///< only in AIBrix's host memory (aibrix/l1_cache.hpp)
};
inline constexpr std::string_view kChunkOrders[] = {"lru",  "lfu",    "fifo",  "mru",
                                                    "none", "random", "s3fifo"};

/// What a Redis is told (maxmemory-policy) that LMCache writes to: it sets no time to live, so that
/// nothing is volatile and those policies refuse as noeviction does. Model: Redis samples a few
/// keys for lru and lfu; here the order is exact.
struct RedisPolicy {
  std::string_view name;
  ChunkOrder order;
};
inline constexpr RedisPolicy kRedisPolicies[] = {
    {"allkeys-lru", ChunkOrder::kLru},       {"allkeys-lfu", ChunkOrder::kLfu},
    {"allkeys-random", ChunkOrder::kRandom}, {"noeviction", ChunkOrder::kNone},
    {"volatile-lru", ChunkOrder::kNone},     {"volatile-lfu", ChunkOrder::kNone},
    {"volatile-random", ChunkOrder::kNone},  {"volatile-ttl", ChunkOrder::kNone},
};

/// How chunks are packed for a remote store: fewer bytes there, and time to pack and unpack them,
/// for which the step waits (lmcache/v1/storage_backend/naive_serde/). Rates are of unpacked bytes;
/// 0: no time.
struct Serde {
  double ratio = 1;
  std::int64_t encode_rate = 0;
  std::int64_t decode_rate = 0;
};
inline constexpr std::string_view kSerdes[] = {"naive", "cachegen", "fp8"};
/// What each divides bytes by where nothing else is said. CacheGen (SIGCOMM 2024) gives 3.5 to 4.3.
inline constexpr double kSerdeRatios[] = {1, 3.5, 2};

/// A remote store is out of reach in [from, to).
struct Outage {
  Time from{};
  Time to{};
};

/// How the evictor of a file system works (kv_connectors/pvc_evictor).
struct EvictorConfig {
  Duration interval = std::chrono::milliseconds(500);
  std::int64_t cleanup_ppm = 850'000;  ///< of the capacity: deletion begins
  std::int64_t target_ppm = 700'000;   ///< and ends
  Duration access = std::chrono::minutes(60);
  std::uint32_t queue_min = 1000;
  std::uint32_t queue_max = 10000;
  std::uint32_t batch = 100;
};

/// When a read changes the access time of a file.
enum class AtimeRule : std::uint8_t { kRelatime, kStrict, kNone };
inline constexpr std::string_view kAtimeRules[] = {"relatime", "strictatime", "noatime"};

}  // namespace spillway
