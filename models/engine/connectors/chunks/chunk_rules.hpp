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
};
inline constexpr std::string_view kChunkOrders[] = {"lru", "lfu", "fifo", "mru", "none"};

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
