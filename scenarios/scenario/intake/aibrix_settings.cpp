// Sources: vllm-project/aibrix, python/aibrix_kvcache/aibrix_kvcache/envs.py @ 15e62c95 (names,
// defaults), l1/l1_cache.py (2^30 bytes of each rank), l1/eviction_policy/base_eviction_policy.py,
// l2/connectors/connector.py @ 03a2b54c (backends).
#include "scenarios/scenario/intake/aibrix_settings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "models/releases/aibrix_config.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

constexpr std::string_view kAibrixPreset = "aibrix@0.4";
constexpr std::string_view kAibrixPrefix = "AIBRIX_KV_CACHE_OL_";
constexpr double kAibrixGib = 1073741824;
constexpr double kAibrixUsualGib = 10;
constexpr double kAibrixMostGib = 1e6;
constexpr std::string_view kAibrixPolicies[] = {"LRU", "FIFO", "S3FIFO"};
constexpr std::string_view kAibrixIngestions[] = {"HOT", "ALL", "EVICTED"};
constexpr std::string_view kAibrixBackends[] = {"ROCKSDB", "INFINISTORE", "HPKV", "PRISKV",
                                                "PRIS",    "MOCK",        "EIC",  "SHFS"};

constexpr std::string_view kOfL2 = "links[] and lookup_us have the times of the store";
constexpr SettingRow kAibrixRows[] = {
    read_row("L1_CACHE_ENABLED"),
    read_row("L1_CACHE_EVICTION_POLICY"),
    read_row("L1_CACHE_CAPACITY_GB"),
    read_row("S3FIFO_SMALL_TO_MAIN_PROMO_THRESHOLD"),
    read_row("S3FIFO_SMALL_FIFO_CAPACITY_RATIO"),
    read_row("CHUNK_SIZE"),
    read_row("DOUBLE_GET_THRESHOLD"),
    read_row("L2_CACHE_BACKEND"),
    read_row("L2_CACHE_PER_TOKEN_TIMEOUT_MS"),
    read_row("L2_CACHE_INGESTION_TYPE"),
    read_row("L2_CACHE_INGESTION_MAX_INFLIGHT_TOKENS"),
    left_row("BLOCK_SIZE", "blocks of the store are those of the engine"),
    left_row("DEVICE", "L1 is host memory"),
    left_row("L2_CACHE_COMPRESSION", "blocks are stored as they are"),
    left_row("TOKEN_VALIDATION_ENABLED", "blocks are stored without their tokens"),
    left_row("L2_CACHE_PLACEMENT_POLICY", "L2 is one store"),
    left_row("META_SERVICE_BACKEND", "L2 is one store"),
    idle_row("META_SERVICE_", "L2 is one store"),
    left_row("ROCKSDB_TTL_S", "blocks have no time to live"),
    idle_row("ROCKSDB_", kOfL2),
    idle_row("L2_CACHE_OP_BATCH", kOfL2),
    idle_row("L2_CACHE_NUM_ASYNC_WORKERS", kOfL2),
    idle_row("L2_CACHE_NAMESPACE", kOfL2),
    idle_row("L2_CACHE_KEY_BUILDER", kOfL2),
    left_row("INFINISTORE_USE_GDR", "blocks of L2 go through host memory"),
    idle_row("INFINISTORE_", kOfL2),
    left_row("HPKV_USE_GDR", "blocks of L2 go through host memory"),
    idle_row("HPKV_", kOfL2),
    idle_row("PRIS_", kOfL2),
    idle_row("PRISKV_", kOfL2),
    idle_row("EIC_", kOfL2),
    idle_row("SHFS_", kOfL2),
    idle_row("MOCK_", kOfL2),
    idle_row("TRANSPORT_RDMA_ADDR_RANGE", kOfL2),
    idle_row("TIME_MEASUREMENT_ENABLED", "measurements take no time here"),
    idle_row("BREAKDOWN_MEASUREMENT_ENABLED", "measurements take no time here"),
    idle_row("PROFILING_", "measurements take no time here"),
};

class AibrixReader {
 public:
  AibrixReader(const EngineCall& call, std::int64_t ranks, Draft& draft)
      : settings_(settings_of(call, kAibrixPrefix)), ranks_(ranks), draft_(draft) {}

  void read(const std::string& connector) {
    draft_.set("engine.preset", std::string(kAibrixPreset), connector);
    if (!connector.ends_with("Type1")) {
      draft_.remark(Standing::kNotModelled, connector,
                    "simulated as the connector of type 1, which loads and stores within the step");
    }
    if (const StoreSetting* on = find("L1_CACHE_ENABLED"); on != nullptr && !truth_setting(*on)) {
      draft_.set("tiers.0.name", "dram", on->written);
      draft_.set("tiers.0.kind", "dram", "");
      draft_.set("tiers.0.capacity", "0GiB", on->written);
      return draft_.remark(Standing::kNotModelled, on->written,
                           "without L1 nothing is offloaded here: L2 alone is not simulated");
    }
    host();
    number("CHUNK_SIZE", "chunk_tokens", 1, 65536);
    remote();
  }

 private:
  const StoreSetting* find(std::string_view name) const { return find_setting(settings_, name); }
  void put(const StoreSetting& setting, const std::string& key, nlohmann::ordered_json value) {
    draft_.set(key, std::move(value), setting.written);
    draft_.remark(Standing::kUsed, setting.written, key);
  }
  void number(std::string_view name, const char* key, std::int64_t least, std::int64_t most) {
    const StoreSetting* given = find(name);
    if (given == nullptr) return;
    put(*given, fmt::format("engine.aibrix.{}", key), whole_setting(*given, least, most));
  }

  /// GiB of each rank.
  void host() {
    const StoreSetting* given = find("L1_CACHE_CAPACITY_GB");
    const double gib = given == nullptr ? kAibrixUsualGib : real_setting(*given, 0, kAibrixMostGib);
    const std::string origin = given == nullptr
                                   ? "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB, its default of 10"
                                   : given->written;
    const std::string scope = ranks_ == 1 ? "" : fmt::format(", of each of {} ranks", ranks_);
    draft_.set("tiers.0.name", "dram", origin);
    draft_.set("tiers.0.kind", "dram", "");
    draft_.set("tiers.0.capacity",
               bytes_text(static_cast<std::int64_t>(std::llround(gib * kAibrixGib)) * ranks_),
               origin + scope);
    if (given == nullptr) {
      draft_.remark(Standing::kAssumed, "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB is not set",
                    "AIBrix takes 10 GiB" + scope);
    } else {
      draft_.remark(Standing::kUsed, origin + scope, "tiers.0.capacity");
    }
    if (const StoreSetting* policy = find("L1_CACHE_EVICTION_POLICY")) {
      const std::size_t row = choice_setting(*policy, kAibrixPolicies);
      put(*policy, "tiers.0.eviction", lower_case(kAibrixPolicies[row]));
    } else {
      draft_.set("tiers.0.eviction", "s3fifo", "AIBrix's default");
    }
    if (const StoreSetting* ratio = find("S3FIFO_SMALL_FIFO_CAPACITY_RATIO")) {
      const double share = real_setting(*ratio, 0, 1);
      if (share <= 0 || share >= 1) refuse_setting(*ratio, "a number above 0 and below 1");
      put(*ratio, "engine.aibrix.small_fifo_ratio", number_as_json(share));
    }
    number("S3FIFO_SMALL_TO_MAIN_PROMO_THRESHOLD", "promo_threshold", 1, 3);
  }

  void remote() {
    const StoreSetting* backend = find("L2_CACHE_BACKEND");
    if (backend == nullptr || backend->value.empty()) {
      for (const std::string_view name :
           {"L2_CACHE_PER_TOKEN_TIMEOUT_MS", "L2_CACHE_INGESTION_TYPE",
            "L2_CACHE_INGESTION_MAX_INFLIGHT_TOKENS", "DOUBLE_GET_THRESHOLD"}) {
        if (const StoreSetting* unused = find(name)) {
          draft_.remark(Standing::kNoEffect, unused->written,
                        "only with AIBRIX_KV_CACHE_OL_L2_CACHE_BACKEND");
        }
      }
      return;
    }
    const std::string_view name = kAibrixBackends[choice_setting(*backend, kAibrixBackends)];
    draft_.set("tiers.1.name", "l2", backend->written);
    draft_.set("tiers.1.kind", "kv", backend->written);
    const bool own = name == "ROCKSDB" || name == "MOCK";
    if (!own) draft_.set("tiers.1.scope", "cluster", backend->written);
    draft_.remark(Standing::kUsed, backend->written, "tiers.1");
    draft_.remark(Standing::kAssumed, "L2 of AIBrix",
                  "its room is without a bound and its rates are published ones: set "
                  "tiers.1.capacity and links to yours");
    if (const StoreSetting* type = find("L2_CACHE_INGESTION_TYPE")) {
      const std::size_t row = choice_setting(*type, kAibrixIngestions);
      put(*type, "engine.aibrix.ingestion", std::string(kIngestions[row]));
    }
    number("L2_CACHE_INGESTION_MAX_INFLIGHT_TOKENS", "max_inflight_tokens", 0,
           std::int64_t{1} << 30);
    number("L2_CACHE_PER_TOKEN_TIMEOUT_MS", "per_token_timeout_ms", 0, 1'000'000);
    double_get();
  }

  /// "4,0.1"; "4" alone leaves the share out.
  void double_get() {
    const StoreSetting* given = find("DOUBLE_GET_THRESHOLD");
    if (given == nullptr) return;
    const std::size_t comma = given->value.find(',');
    const auto trimmed = [](std::string text) {
      text.erase(0, text.find_first_not_of(' '));
      text.erase(text.find_last_not_of(' ') + 1);
      return text;
    };
    const auto blocks = parse_whole<std::int64_t>(trimmed(given->value.substr(0, comma)));
    const auto share = comma == std::string::npos
                           ? std::optional<double>(0)
                           : parse_real(trimmed(given->value.substr(comma + 1)));
    if (!blocks || *blocks < 0 || *blocks > 65536 || !share || !(*share >= 0 && *share <= 1)) {
      refuse_setting(*given, "blocks and a share from 0 to 1, such as 4,0.1");
    }
    put(*given, "engine.aibrix.double_get_blocks", *blocks);
    draft_.set("engine.aibrix.double_get_ratio", number_as_json(*share), given->written);
  }

  StoreSettings settings_;
  std::int64_t ranks_;
  Draft& draft_;
};

}  // namespace

std::span<const SettingRow> aibrix_variables() {
  return kAibrixRows;
}

void read_aibrix_settings(const EngineCall& call, const std::string& connector, std::int64_t ranks,
                          Draft& draft) {
  AibrixReader(call, ranks, draft).read(connector);
}

}  // namespace spillway
