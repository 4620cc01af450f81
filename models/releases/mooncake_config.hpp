// What Mooncake Store's master and its SSD offload are told (mooncake-store/include/types.h,
// master_config.h, docs/source/deployment/ssd/ssd-offload.md). Shares are in billionths, so that
// what is computed from them is exact.
#pragma once

#include <chrono>
#include <cstdint>

#include "sim/units.hpp"

namespace spillway {

struct MooncakeConfig {
  static constexpr std::int64_t kWhole = 1'000'000'000;  ///< a share of 1

  std::uint32_t segments = 1;  ///< equal parts of the memory
  std::uint32_t replicas = 1;  ///< of an object in memory, each in a segment of its own
  Duration lease = std::chrono::seconds(10);
  Duration soft_pin = std::chrono::minutes(30);
  Duration check = std::chrono::milliseconds(10);  ///< between checks whether to evict
  Duration put_discard = std::chrono::seconds(30);
  Duration put_release = std::chrono::minutes(10);
  std::int64_t high_watermark = 900'000'000;
  std::int64_t eviction_ratio = 50'000'000;
  bool evict_soft_pinned = true;

  bool offload = false;  ///< objects are written to the SSD
  bool offload_on_evict = false;
  bool offload_force_evict = false;
  std::uint64_t queue_limit = 50'000;
  std::int64_t offload_cap = 500'000'000;  ///< of the queue limit, in one check
  Bytes bucket_bytes = Bytes(std::int64_t{256} << 20);
  std::uint32_t bucket_keys = 500;
  Duration heartbeat = std::chrono::seconds(10);
  std::int64_t ssd_high_watermark = 900'000'000;
  std::int64_t ssd_low_watermark = 800'000'000;

  bool offloads_on_evict() const { return offload && offload_on_evict; }
};

}  // namespace spillway
