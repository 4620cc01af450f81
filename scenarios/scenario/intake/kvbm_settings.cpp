// Source: ai-dynamo/dynamo, docs/fern/pages/reference/components/kvbm-configuration.mdx @ 10e361d3
// and lib/runtime/src/config/environment_names.rs @ 00ebc550 (2026).
#include "scenarios/scenario/intake/kvbm_settings.hpp"

#include <fmt/format.h>

#include <string_view>

namespace spillway {

namespace {

constexpr std::string_view kKvbmPreset = "kvbm@1.0";
constexpr std::string_view kKvbmPrefix = "DYN_KVBM_";

constexpr std::string_view kOfDisk = "tiers[].device has the rates of the disk";
constexpr std::string_view kOfKvbm = "neither what is stored nor its times depend on it";
constexpr std::string_view kOfNccl = "each rank loads its own blocks";
constexpr SettingRow kKvbmRows[] = {
    read_row("CPU_CACHE_GB"),
    read_row("CPU_CACHE_OVERRIDE_NUM_BLOCKS"),
    read_row("DISK_CACHE_GB"),
    read_row("DISK_CACHE_OVERRIDE_NUM_BLOCKS"),
    read_row("OBJECT_ENABLED"),
    read_row("OBJECT_BUCKET"),
    read_row("OBJECT_NUM_BLOCKS"),
    read_row("MAX_TRANSFER_BATCH_SIZE"),
    read_row("TRANSFER_BATCH_SIZE"),
    read_row("MAX_CONCURRENT_TRANSFERS"),
    read_row("DISABLE_DISK_OFFLOAD_FILTER"),
    left_row("HOST_OFFLOAD_PREFIX_MIN_PRIORITY", "blocks are stored whatever their priority"),
    left_row("NCCL_MLA_MODE", kOfNccl),
    left_row("NCCL_MAX_CTAS", kOfNccl),
    idle_row("OBJECT_ENDPOINT", kOfKvbm),
    idle_row("OBJECT_REGION", kOfKvbm),
    idle_row("OBJECT_ACCESS_KEY", kOfKvbm),
    idle_row("OBJECT_SECRET_KEY", kOfKvbm),
    idle_row("DISK_CACHE_DIR", kOfDisk),
    idle_row("DISK_ALLOCATOR_TYPE", kOfDisk),
    idle_row("DISK_DISABLE_O_DIRECT", kOfDisk),
    idle_row("DISK_ZEROFILL_FALLBACK", kOfDisk),
    idle_row("NIXL_BACKEND_", "links[] has the rates of the copies"),
    idle_row("DISABLE_WRITE_COMBINED", kOfKvbm),
    idle_row("ENABLE_NUMA", kOfKvbm),
    idle_row("METRICS", kOfKvbm),
    idle_row("METRICS_PORT", kOfKvbm),
    idle_row("ENABLE_RECORD", kOfKvbm),
    idle_row("CACHE_STATS_LOG_INTERVAL_SECS", kOfKvbm),
    idle_row("CACHE_STATS_MAX_REQUESTS", kOfKvbm),
    idle_row("KV_EVENTS_ENABLE_CONSOLIDATOR", kOfKvbm),
    idle_row("LEADER_WORKER_INIT_TIMEOUT_SECS", kOfKvbm),
    idle_row("LEADER_ZMQ_HOST", kOfKvbm),
    idle_row("LEADER_ZMQ_PUB_PORT", kOfKvbm),
    idle_row("LEADER_ZMQ_ACK_PORT", kOfKvbm),
};

class KvbmSettingsReader {
 public:
  KvbmSettingsReader(const EngineCall& call, Draft& draft)
      : settings_(settings_of(call, kKvbmPrefix)), draft_(draft) {}

  void read() {
    draft_.set("engine.preset", std::string(kKvbmPreset), "DynamoConnector");
    tier("dram", "dram", "CPU_CACHE_GB", "CPU_CACHE_OVERRIDE_NUM_BLOCKS");
    tier("disk", "nvme", "DISK_CACHE_GB", "DISK_CACHE_OVERRIDE_NUM_BLOCKS");
    object_store();
    if (tiers_ == 0) {
      draft_.remark(Standing::kAssumed, "DYN_KVBM_CPU_CACHE_GB",
                    "no size is given, and KVBM stores nothing without one: set tiers.0.capacity");
    }
    number("TRANSFER_BATCH_SIZE", "max_transfer_batch_size");
    number("MAX_TRANSFER_BATCH_SIZE", "max_transfer_batch_size");
    number("MAX_CONCURRENT_TRANSFERS", "max_concurrent_transfers");
    if (const StoreSetting* off = variable("DISABLE_DISK_OFFLOAD_FILTER")) {
      draft_.set("engine.kvbm.disk_offload_filter", !truth_setting(*off), off->written);
      draft_.remark(Standing::kUsed, off->written, "engine.kvbm.disk_offload_filter");
    }
  }

 private:
  const StoreSetting* variable(std::string_view name) const {
    return find_setting(settings_, name);
  }

  void number(std::string_view name, const char* key) {
    const StoreSetting* given = variable(name);
    if (given == nullptr) return;
    const std::string target = fmt::format("engine.kvbm.{}", key);
    draft_.set(target, whole_setting(*given, 0), given->written);
    draft_.remark(Standing::kUsed, given->written, target);
  }

  /// GB of 10^9 bytes; a number of blocks goes before them.
  void tier(const char* name, const char* kind, std::string_view gb, std::string_view blocks) {
    const StoreSetting* counted = variable(blocks);
    const StoreSetting* sized = variable(gb);
    const StoreSetting* used = counted != nullptr ? counted : sized;
    if (used == nullptr) return;
    const std::int64_t size = whole_setting(*used, 0);
    if (size == 0) return draft_.remark(Standing::kNoEffect, used->written, "no tier");
    if (counted != nullptr && sized != nullptr) {
      draft_.remark(Standing::kNoEffect, sized->written,
                    fmt::format("{}{} goes before it", kKvbmPrefix, blocks));
    }
    const std::string at = next(name, kind, used->written);
    draft_.set(at + ".capacity", fmt::format("{}{}", size, counted != nullptr ? "blocks" : "GB"),
               used->written + ", of all ranks");
    draft_.remark(Standing::kUsed, used->written, at + ".capacity");
  }

  void object_store() {
    const StoreSetting* on = variable("OBJECT_ENABLED");
    if (on == nullptr || !truth_setting(*on)) return;
    const std::string at = next("object", "object", on->written);
    draft_.set(at + ".scope", "cluster", "DYN_KVBM_OBJECT_BUCKET");
    draft_.remark(Standing::kUsed, on->written, at);
    const StoreSetting* blocks = variable("OBJECT_NUM_BLOCKS");
    if (blocks == nullptr) return;
    draft_.set(at + ".capacity", fmt::format("{}blocks", whole_setting(*blocks, 0)),
               blocks->written);
    draft_.remark(Standing::kUsed, blocks->written, at + ".capacity");
  }

  std::string next(const char* name, const char* kind, const std::string& origin) {
    const std::string at = fmt::format("tiers.{}", tiers_++);
    draft_.set(at + ".name", name, origin);
    draft_.set(at + ".kind", kind, origin);
    return at;
  }

  StoreSettings settings_;
  Draft& draft_;
  int tiers_ = 0;
};

}  // namespace

std::span<const SettingRow> kvbm_variables() {
  return kKvbmRows;
}

void read_kvbm_settings(const EngineCall& call, Draft& draft) {
  KvbmSettingsReader(call, draft).read();
}

}  // namespace spillway
