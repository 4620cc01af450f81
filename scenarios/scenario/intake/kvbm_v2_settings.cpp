// Dynamo's KVBM v2: the connector's settings go before variables KVBM_*, and these before those of
// v1, which it still reads (lib/kvbm-config/README.md). Model: no TOML file is read.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string_view>

#include "scenarios/scenario/intake/kvbm_settings.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOfV2 = "neither what is stored nor its times depend on it";
constexpr SettingRow kKvbmV2Rows[] = {
    read_row("CACHE_HOST_CACHE_SIZE_GB"),
    read_row("CACHE_HOST_NUM_BLOCKS"),
    read_row("CACHE_DISK_CACHE_SIZE_GB"),
    read_row("CACHE_DISK_NUM_BLOCKS"),
    read_row("OFFLOAD_G1_TO_G2_POLICIES"),
    read_row("OFFLOAD_G1_TO_G2_MAX_BATCH_SIZE"),
    read_row("OFFLOAD_G2_TO_G3_POLICIES"),
    read_row("OFFLOAD_G2_TO_G3_MAX_BATCH_SIZE"),
    read_row("ONBOARD_MODE"),
    left_row("CONFIG_PATH", "the file was not read; give its settings as variables"),
    left_row("OFFLOAD_G1_TO_G2_MIN_PRIORITY", "blocks are stored whatever their priority"),
    left_row("OFFLOAD_G2_TO_G3_MIN_PRIORITY", "blocks are stored whatever their priority"),
    left_row("CACHE_PARALLELISM", "each rank loads its own blocks"),
    idle_row("CACHE_DISK_", "tiers[].device has the rates of the disk"),
    idle_row("OFFLOAD_", "links[] has the rates of the copies"),
    idle_row("NIXL_", "links[] has the rates of the copies"),
    idle_row("TOKIO_", kOfV2),
    idle_row("RAYON_", kOfV2),
    idle_row("NOVA_", kOfV2),
    idle_row("MESSENGER_", kOfV2),
    idle_row("EVENTS_", kOfV2),
    idle_row("METRICS_", kOfV2),
    idle_row("DEBUG_", kOfV2),
    idle_row("CONTROL_", kOfV2),
};

class KvbmV2Reader {
 public:
  KvbmV2Reader(const EngineCall& call, const Json& extra, Draft& draft)
      : call_(call), extra_(extra), draft_(draft) {}

  void read() {
    draft_.set("engine.preset", "kvbm@2.0", "kvbm.v2");
    tier("dram", "dram", "host", "CPU");
    tier("disk", "nvme", "disk", "DISK");
    if (const auto object = find("object")) {
      const std::string at = next("object", "object", object->origin);
      draft_.set(at + ".scope", "cluster", object->origin);
    }
    if (tiers_ == 0) {
      draft_.remark(Standing::kAssumed, "KVBM_CACHE_HOST_CACHE_SIZE_GB",
                    "no size is given, and KVBM stores nothing without one: set tiers.0.capacity");
    }
    for (const auto& [hop, key] : kHops) policies(hop, key);
    if (const auto mode = find("onboard.mode"); mode && mode->value != "inter") {
      draft_.remark(Standing::kNotModelled, mode->origin, "loads go beside the steps");
    }
  }

 private:
  struct Found {
    Json value;
    std::string origin;
    SourceRef where;
  };
  static constexpr std::pair<std::string_view, std::string_view> kHops[] = {
      {"g1_to_g2", "host_policies"}, {"g2_to_g3", "disk_policies"}};

  Found in_settings(const Json& value, const std::string& path) const {
    Found out{value, "kv_connector_extra_config." + path, call_.where};
    out.where.field = out.origin;
    return out;
  }

  /// "cache.host.num_blocks", by the leader's profile, then the default one.
  std::optional<Found> find(const std::string& path, const std::string& v1 = {}) const {
    std::string pointer = "/" + path;
    std::ranges::replace(pointer, '.', '/');
    for (const char* const profile : {"/leader", "/default", ""}) {
      const Json::json_pointer at(profile + pointer);
      if (extra_.contains(at)) return in_settings(extra_[at], path);
    }
    std::string name = "KVBM_" + path;
    std::ranges::replace(name, '.', '_');
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    for (const std::string& known : {name, v1}) {
      const auto set = call_.environment.find(known);
      if (set == call_.environment.end()) continue;
      Json value = Json::parse(set->second, nullptr, false);
      if (value.is_discarded()) value = set->second;
      return Found{std::move(value), known + "=" + set->second, place_of_variable(call_, known)};
    }
    return std::nullopt;
  }

  std::string next(const char* name, const char* kind, const std::string& origin) {
    const std::string at = fmt::format("tiers.{}", tiers_++);
    draft_.set(at + ".name", name, origin);
    draft_.set(at + ".kind", kind, origin);
    return at;
  }

  /// A number of blocks goes before GB of 10^9 bytes, which are of each rank.
  void tier(const char* name, const char* kind, const std::string& part, const std::string& v1) {
    constexpr double kMostGb = 1e9;
    const std::string path = "cache." + part;
    const auto gb = find(path + ".cache_size_gb", "DYN_KVBM_" + v1 + "_CACHE_GB");
    const auto blocks = find(path + ".num_blocks", "DYN_KVBM_" + v1 + "_CACHE_OVERRIDE_NUM_BLOCKS");
    if (!gb && !blocks) return;
    const Found& found = blocks ? *blocks : *gb;
    const bool fits = blocks ? found.value.is_number_unsigned()
                             : found.value.is_number() && found.value.get<double>() >= 0 &&
                                   found.value.get<double>() <= kMostGb;
    if (!fits) {
      throw InputError(Fault::kUsage, found.where,
                       fmt::format("expected a number of {}, found {}", blocks ? "blocks" : "GB",
                                   found.value.dump()));
    }
    if (found.value.get<double>() == 0) {
      return draft_.remark(Standing::kNoEffect, found.origin, "no tier");
    }
    const std::string at = next(name, kind, found.origin);
    if (blocks) {
      draft_.set(at + ".capacity", found.value.dump() + "blocks", found.origin + ", of all ranks");
    } else {
      const std::int64_t bytes = std::llround(found.value.get<double>() * 1e9);
      const bool whole = bytes % 1'000'000'000 == 0;
      draft_.set(at + ".capacity",
                 whole ? fmt::format("{}GB", bytes / 1'000'000'000) : fmt::format("{}B", bytes),
                 found.origin + ", of each rank");
      draft_.set(at + ".scope", "rank", found.origin);
    }
    draft_.remark(Standing::kUsed, found.origin, at + ".capacity");
  }

  /// Model: one least number of uses and one size of a job for both hops.
  void policies(std::string_view hop, std::string_view key) {
    const std::string path = fmt::format("offload.{}.", hop);
    const auto set = [&](const std::string& name, std::string_view to, const char* v1 = "") {
      const auto found = find(path + name, v1);
      if (!found || found->value.is_null()) return;
      draft_.set(fmt::format("engine.kvbm.{}", to), found->value, found->origin);
      draft_.remark(Standing::kUsed, found->origin, fmt::format("engine.kvbm.{}", to));
    };
    set("policies", key);
    set("presence_lfu.min_lfu_count", "min_lfu_count");
    set("max_batch_size", "max_batch_size",
        hop == kHops[0].first ? "DYN_KVBM_MAX_TRANSFER_BATCH_SIZE" : "");
  }

  const EngineCall& call_;
  const Json& extra_;
  Draft& draft_;
  int tiers_ = 0;
};

}  // namespace

std::span<const SettingRow> kvbm_v2_variables() {
  return kKvbmV2Rows;
}

void read_kvbm_v2_settings(const EngineCall& call, const Json& extra, Draft& draft) {
  KvbmV2Reader(call, extra, draft).read();
}

}  // namespace spillway
