// A local NVMe drive: reads faster than writes, a rate that grows with queue depth, and a write
// cache whose end is felt.
//
// 7.0 GB/s sequential read of a Gen4 datacentre drive (kvcache-ai/Mooncake:
// ssd-offload-benchmark-results.md). Writes at 5 GB/s and 80 us to the first byte are the class
// that inference-sim ships (inference-sim/inference-sim: defaults.yaml), one latency for both
// directions. 64 operations in flight: ai-dynamo/dynamo KVBM runs 4 transfers of 16 blocks at once.
// No drop of sustained writes and no rated endurance are published for one class of drive: both are
// off until given.
#include "models/tier/storage_kinds.hpp"

namespace spillway::nvme {

namespace {
constexpr std::int64_t kReadRate = 7'000'000'000;
constexpr std::int64_t kWriteRate = 5'000'000'000;
constexpr Duration kLatency = std::chrono::microseconds(80);
constexpr std::uint32_t kDepth = 64;
}  // namespace

StorageSpec spec() {
  StorageSpec out;
  out.kind = StorageKind::kNvme;
  out.read = {kReadRate, 0, 0, LatencyQuantiles::constant(kLatency)};
  out.write = {kWriteRate, 0, 0, LatencyQuantiles::constant(kLatency)};
  out.slots = kDepth;
  out.read_first = kDepth;
  return out;
}

std::vector<StorageSource> sources() {
  constexpr std::string_view kClass = "inference-sim defaults.yaml, NVMe Gen4";
  return {{"read_bandwidth", "Mooncake ssd-offload-benchmark-results.md, Gen4"},
          {"write_bandwidth", kClass},
          {"read_latency_us", kClass},
          {"write_latency_us", kClass},
          {"queue_depth", "Dynamo KVBM, 4 transfers of 16 blocks"}};
}

}  // namespace spillway::nvme
