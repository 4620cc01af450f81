// Source: ai-dynamo/dynamo, docs/fern/pages/reference/components/kvbm-configuration.mdx and
// lib/runtime/src/config/environment_names.rs @ 10e361d3 (2026).
#include "scenarios/scenario/intake/kvbm_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "models/releases/presets.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

constexpr std::string_view kPreset = "kvbm@1.0";
constexpr std::string_view kPrefix = "DYN_KVBM_";

enum class Use : std::uint8_t { kTier, kKey, kFilter, kNoEffect, kNotModelled };

/// One variable, or all that begin so.
struct Row {
  std::string_view name;  ///< behind DYN_KVBM_
  Use use;
  std::string_view key;  ///< of engine.kvbm; else the consequence
};
constexpr Row kRows[] = {
    {"CPU_CACHE_", Use::kTier, ""},
    {"DISK_CACHE_GB", Use::kTier, ""},
    {"DISK_CACHE_OVERRIDE_NUM_BLOCKS", Use::kTier, ""},
    {"OBJECT_", Use::kTier, ""},
    {"MAX_TRANSFER_BATCH_SIZE", Use::kKey, "max_transfer_batch_size"},
    {"TRANSFER_BATCH_SIZE", Use::kKey, "max_transfer_batch_size"},
    {"MAX_CONCURRENT_TRANSFERS", Use::kKey, "max_concurrent_transfers"},
    {"DISABLE_DISK_OFFLOAD_FILTER", Use::kFilter, "disk_offload_filter"},
    {"HOST_OFFLOAD_PREFIX_MIN_PRIORITY", Use::kNotModelled,
     "blocks are stored whatever their priority"},
    {"NCCL_", Use::kNotModelled, "each rank loads its own blocks"},
    {"DISK_", Use::kNoEffect, "tiers[].device has the rates of the disk"},
    {"NIXL_", Use::kNoEffect, "links[] has the rates of the copies"},
    {"", Use::kNoEffect, "neither what is stored nor its times depend on it"},
};

class KvbmSettingsReader {
 public:
  KvbmSettingsReader(const EngineCall& call, Draft& draft) : call_(call), draft_(draft) {}

  void read() {
    draft_.set("engine.preset", std::string(kPreset), "DynamoConnector");
    tier("dram", "dram", "CPU_CACHE_GB", "CPU_CACHE_OVERRIDE_NUM_BLOCKS");
    tier("disk", "nvme", "DISK_CACHE_GB", "DISK_CACHE_OVERRIDE_NUM_BLOCKS");
    object_store();
    if (tiers_ == 0) {
      draft_.remark(Standing::kAssumed, "DYN_KVBM_CPU_CACHE_GB",
                    "no size is given, and KVBM stores nothing without one: set tiers.0.capacity");
    }
    for (const auto& [name, value] : call_.environment) {
      if (name.starts_with(kPrefix)) other(name, value);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& expected,
                         const std::string& value) const {
    SourceRef where = call_.where;
    where.field = name;
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected {}, found \"{}\"", expected, value));
  }
  std::int64_t whole(const std::string& name, const std::string& value) const {
    const auto number = parse_whole<std::int64_t>(value);
    if (!number || *number < 0) fail(name, "a whole number", value);
    return *number;
  }
  bool truth(const std::string& name, std::string value) const {
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (value == "1" || value == "true" || value == "yes" || value == "on") return true;
    if (value == "0" || value == "false" || value == "no" || value == "off") return false;
    fail(name, "true or false", value);
  }
  const std::string* variable(std::string_view name) const {
    const auto found = call_.environment.find(std::string(kPrefix) + std::string(name));
    return found == call_.environment.end() ? nullptr : &found->second;
  }

  /// GB of 10^9 bytes; a number of blocks goes before them.
  void tier(const char* name, const char* kind, std::string_view gb, std::string_view blocks) {
    const bool counted = variable(blocks) != nullptr;
    const std::string_view used = counted ? blocks : gb;
    if (variable(used) == nullptr) return;
    const std::string full = std::string(kPrefix) + std::string(used);
    const std::int64_t size = whole(full, *variable(used));
    const std::string origin = full + "=" + *variable(used);
    if (size == 0) return draft_.remark(Standing::kNoEffect, origin, "no tier");
    if (counted && variable(gb) != nullptr) {
      draft_.remark(Standing::kNoEffect, fmt::format("{}{}={}", kPrefix, gb, *variable(gb)),
                    full + " goes before it");
    }
    const std::string at = next(name, kind, origin);
    draft_.set(at + ".capacity", fmt::format("{}{}", size, counted ? "blocks" : "GB"),
               origin + ", of all ranks");
    draft_.remark(Standing::kUsed, origin, at + ".capacity");
  }

  void object_store() {
    const std::string* on = variable("OBJECT_ENABLED");
    if (on == nullptr || !truth("DYN_KVBM_OBJECT_ENABLED", *on)) return;
    const std::string at = next("object", "object", "DYN_KVBM_OBJECT_ENABLED=" + *on);
    draft_.set(at + ".scope", "cluster", "DYN_KVBM_OBJECT_BUCKET");
    draft_.remark(Standing::kUsed, "DYN_KVBM_OBJECT_ENABLED=" + *on, at);
    const std::string* blocks = variable("OBJECT_NUM_BLOCKS");
    if (blocks == nullptr) return;
    draft_.set(at + ".capacity",
               fmt::format("{}blocks", whole("DYN_KVBM_OBJECT_NUM_BLOCKS", *blocks)),
               "DYN_KVBM_OBJECT_NUM_BLOCKS=" + *blocks);
    draft_.remark(Standing::kUsed, "DYN_KVBM_OBJECT_NUM_BLOCKS=" + *blocks, at + ".capacity");
  }

  std::string next(const char* name, const char* kind, const std::string& origin) {
    const std::string at = fmt::format("tiers.{}", tiers_++);
    draft_.set(at + ".name", name, origin);
    draft_.set(at + ".kind", kind, origin);
    return at;
  }

  void other(const std::string& name, const std::string& value) {
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& one) {
      const bool family = one.name.empty() || one.name.ends_with('_');
      return family ? rest.starts_with(one.name) : rest == one.name;
    });
    const std::string written = name + "=" + value;
    const std::string key = "engine.kvbm." + std::string(row->key);
    switch (row->use) {
      case Use::kTier:
        return;
      case Use::kKey:
      case Use::kFilter:
        if (row->use == Use::kKey) {
          draft_.set(key, whole(name, value), written);
        } else {
          draft_.set(key, !truth(name, value), written);
        }
        return draft_.remark(Standing::kUsed, written, key);
      case Use::kNoEffect:
        return draft_.remark(Standing::kNoEffect, written, std::string(row->key));
      case Use::kNotModelled:
        return draft_.remark(Standing::kNotModelled, written, std::string(row->key));
    }
  }

  const EngineCall& call_;
  Draft& draft_;
  int tiers_ = 0;
};

}  // namespace

void read_kvbm_settings(const EngineCall& call, Draft& draft) {
  KvbmSettingsReader(call, draft).read();
}

}  // namespace spillway
