// Sources: taco-project/FlexKV, flexkv/common/config.py (names, UserConfig, load_user_config_*,
// convert_to_block_num: 2^30 bytes), docs/flexkv_config_reference/README_en.md @ eda0a43f,
// docs/eviction_policy/README_en.md @ 3f4767f6.
#include "scenarios/scenario/intake/flexkv_settings.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "models/releases/flexkv_config.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/yaml_nodes.hpp"

namespace spillway {

namespace {

constexpr std::string_view kFlexkvPreset = "flexkv@1.2";
constexpr std::string_view kFlexkvPrefix = "FLEXKV_";
constexpr std::int64_t kFlexkvGib = std::int64_t{1} << 30;
constexpr std::int64_t kFlexkvMostGib = 1'000'000;
constexpr std::int64_t kFlexkvUsualGib = 16;

constexpr std::string_view kOfCopies = "links[] has the rates of the copies";
constexpr std::string_view kOfProcesses = "how its processes find each other";
constexpr std::string_view kOfLogs = "logs and metrics";
constexpr std::string_view kOfSharing = "sharing between nodes is not modelled";
constexpr SettingRow kFlexkvRows[] = {
    read_row("CONFIG_PATH"),
    read_row("CPU_CACHE_GB"),
    read_row("SSD_CACHE_GB"),
    read_row("EVICTION_POLICY"),
    read_row("EVICT_START_THRESHOLD"),
    read_row("EVICT_RATIO"),
    read_row("HIT_REWARD_SECONDS"),
    read_row("SLRU_PROTECTED_THRESHOLD"),
    idle_row("SSD_CACHE_DIR", "where the SSD lies"),
    left_row("ENABLE_GDS", "the SSD is read through host memory"),
    left_row("ENABLE_NIXL", "the SSD is read through host memory"),
    left_row("ENABLE_LAYERWISE_TRANSFER", "a load is one copy of all layers"),
    left_row("KV_CACHE_DTYPE", "blocks are stored as the engine has them"),
    left_row("NVCOMP_BATCH_SIZE", "blocks are stored as they are"),
    left_row("MLA_D2H_MODE", "ranks of an MLA model store one copy"),
    left_row("INSTANCE_NUM", kOfSharing),
    idle_row("INSTANCE_ID", kOfProcesses),
    idle_row("SERVER_CLIENT_MODE", kOfProcesses),
    idle_row("SERVER_RECV_PORT", kOfProcesses),
    idle_row("MASTER_HOST", kOfProcesses),
    idle_row("MASTER_PORTS", kOfProcesses),
    idle_row("INDEX_ACCEL", "look-ups take no time here"),
    idle_row("CPU_LAYOUT", kOfCopies),
    idle_row("SSD_LAYOUT", kOfCopies),
    idle_row("REMOTE_LAYOUT", kOfCopies),
    idle_row("GDS_LAYOUT", kOfCopies),
    idle_row("USE_CE_TRANSFER_H2D", kOfCopies),
    idle_row("USE_CE_TRANSFER_D2H", kOfCopies),
    idle_row("TRANSFER_SMS_H2D", kOfCopies),
    idle_row("TRANSFER_SMS_D2H", kOfCopies),
    idle_row("TRANSFER_NUM_CTA_H2D", kOfCopies),
    idle_row("TRANSFER_NUM_CTA_D2H", kOfCopies),
    idle_row("H2D_CTA_NUM", kOfCopies),
    idle_row("D2H_CTA_NUM", kOfCopies),
    idle_row("TRANSFER_SEGMENT_THRESHOLD", kOfCopies),
    idle_row("TRANSFER_PATH_OPT", kOfCopies),
    idle_row("ENABLE_MEMCPY2D", kOfCopies),
    idle_row("ENABLE_MPS", kOfCopies),
    idle_row("LAYERWISE_NOTIFY_MODE", kOfCopies),
    idle_row("IOURING_ENTRIES", kOfCopies),
    idle_row("IOURING_FLAGS", kOfCopies),
    idle_row("IORING_ENTRIES", kOfCopies),
    idle_row("IORING_FLAGS", kOfCopies),
    idle_row("MAX_FILE_SIZE_GB", kOfCopies),
    idle_row("USE_HUGEPAGE_CPU_BUFFER", kOfCopies),
    idle_row("USE_HUGEPAGE_TMP_BUFFER", kOfCopies),
    idle_row("HUGEPAGE_SIZE_BYTES", kOfCopies),
    idle_row("ENABLE_METRICS", kOfLogs),
    idle_row("CPP_METRICS_PORT", kOfLogs),
    idle_row("PY_METRICS_PORT", kOfLogs),
    idle_row("ENABLE_TRACE", kOfLogs),
    idle_row("TRACE_FILE_PATH", kOfLogs),
    idle_row("TRACE_MAX_FILE_SIZE_MB", kOfLogs),
    idle_row("TRACE_MAX_FILES", kOfLogs),
    idle_row("TRACE_FLUSH_INTERVAL_MS", kOfLogs),
    idle_row("LOGGING_PREFIX", kOfLogs),
    idle_row("LOG_LEVEL", kOfLogs),
    idle_row("NUM_LOG_INTERVAL_REQUESTS", kOfLogs),
    idle_row("LT_POOL_INITIAL_CAPACITY", kOfSharing),
    idle_row("REFRESH_BATCH_SIZE", kOfSharing),
    idle_row("REBUILD_INTERVAL_MS", kOfSharing),
    idle_row("IDLE_SLEEP_MS", kOfSharing),
    idle_row("LEASE_TTL_MS", kOfSharing),
    idle_row("SAFETY_TTL_MS", kOfSharing),
    idle_row("RENEW_LEASE_MS", kOfSharing),
};
/// Keys of the file that have no variable.
constexpr SettingRow kFlexkvFileRows[] = {
    left_row("enable_p2p_cpu", kOfSharing),
    left_row("enable_p2p_ssd", kOfSharing),
    left_row("enable_3rd_remote", "a remote store has to be added as a tier of kind kv or object"),
    left_row("cache_config", "of a FlexKV before 1.0: give cpu_cache_gb and ssd_cache_gb"),
    idle_row("enable_flexkv", "of a FlexKV before 1.0"),
    idle_row("local_zmq_ip", kOfProcesses),
    idle_row("local_zmq_port", kOfProcesses),
    idle_row("redis_host", kOfProcesses),
    idle_row("redis_port", kOfProcesses),
    idle_row("redis_password", kOfProcesses),
    idle_row("local_ip", kOfProcesses),
    idle_row("node_ttl_seconds", kOfProcesses),
};
/// These of the environment are not looked at where there is a file.
constexpr std::string_view kUserVariables[] = {"CPU_CACHE_GB",
                                               "SSD_CACHE_GB",
                                               "SSD_CACHE_DIR",
                                               "ENABLE_GDS",
                                               "ENABLE_NIXL",
                                               "USE_HUGEPAGE_CPU_BUFFER",
                                               "USE_HUGEPAGE_TMP_BUFFER",
                                               "HUGEPAGE_SIZE_BYTES",
                                               "KV_CACHE_DTYPE"};

/// "cpu_layout_type" is CPU_LAYOUT.
std::string variable_of_key(std::string_view key) {
  if (key.ends_with("_layout_type")) key.remove_suffix(5);
  std::string out(key);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

const SettingRow* file_row(std::string_view key) {
  const SettingRow* row = setting_row(kFlexkvRows, variable_of_key(key));
  return row != nullptr ? row : setting_row(kFlexkvFileRows, key);
}

class FlexkvReader {
 public:
  FlexkvReader(const EngineCall& call, Draft& draft) : call_(call), draft_(draft) {}

  void read() {
    draft_.set("engine.preset", std::string(kFlexkvPreset), "FlexKVConnectorV1");
    settings_ = settings_of(call_, kFlexkvPrefix);
    if (const StoreSetting* path = find_setting(settings_, "CONFIG_PATH")) file(*path);
    sizes();
    eviction();
    share("EVICT_START_THRESHOLD", "evict_start_threshold");
    share("EVICT_RATIO", "evict_ratio");
    whole("HIT_REWARD_SECONDS", "hit_reward_seconds", 0, 100'000'000);
    whole("SLRU_PROTECTED_THRESHOLD", "slru_protected_threshold", 1, std::int64_t{1} << 30);
  }

 private:
  const StoreSetting* find(std::string_view name) const { return find_setting(settings_, name); }
  void put(const StoreSetting& setting, const std::string& key, nlohmann::ordered_json value) {
    draft_.set(key, std::move(value), setting.written);
    draft_.remark(Standing::kUsed, setting.written, key);
  }

  /// Its keys go before the variables of the same name.
  void file(const StoreSetting& path) {
    const std::string& name = path.value;
    if (!name.ends_with(".json") && !name.ends_with(".yaml") && !name.ends_with(".yml")) {
      refuse_setting(path, "a file that ends with .json, .yaml or .yml");
    }
    const std::optional<CallFile> found = file_of_call(call_, name);
    if (!found) {
      return draft_.remark(Standing::kNotModelled, path.written,
                           "the file does not lie here, and its settings are left out: give it as "
                           "another input");
    }
    draft_.remark(Standing::kUsed, path.written, "its settings");
    for (StoreSetting& one : settings_) {
      const bool user = std::find(std::begin(kUserVariables), std::end(kUserVariables),
                                  std::string_view(one.name)) != std::end(kUserVariables);
      if (user) draft_.remark(Standing::kNoEffect, one.written, found->name + " goes before it");
    }
    std::erase_if(settings_, [](const StoreSetting& one) {
      return std::find(std::begin(kUserVariables), std::end(kUserVariables),
                       std::string_view(one.name)) != std::end(kUserVariables);
    });
    try {
      const YAML::Node root = YAML::Load(found->text);
      if (root.IsNull()) return;
      expect_map(root, found->name, "");
      for (const auto& entry : root) key(scalar(entry.first), entry.second, found->name);
    } catch (const YAML::Exception& error) {
      throw InputError(Fault::kUsage, {found->name, error.mark.line + 1, ""},
                       fmt::format("no YAML or JSON: {}; expected FlexKV's settings", error.msg));
    }
  }

  void key(const std::string& name, const YAML::Node& value, const std::string& file) {
    StoreSetting setting{variable_of_key(name), scalar(value),
                         fmt::format("{}: {}: {}", file, name, scalar(value)),
                         place_of(value, file, name)};
    const SettingRow* row = file_row(name);
    if (row == nullptr) {  // FlexKV ends with "Unknown config name"
      std::vector<std::string> known;
      for (const SettingRow& one : kFlexkvRows) known.push_back(lower_case(one.name));
      std::vector<std::string_view> names(known.begin(), known.end());
      for (const SettingRow& one : kFlexkvFileRows) names.push_back(one.name);
      throw InputError(Fault::kUsage, setting.where,
                       did_you_mean(name, names, "") +
                           "FlexKV refuses a key that it does not have; expected one such as "
                           "cpu_cache_gb");
    }
    if (row->use == SettingUse::kRead) {
      if (!value.IsScalar()) refuse_setting(setting, "one value");
      const StoreSetting* before = find(setting.name);
      if (before != nullptr) {
        draft_.remark(Standing::kNoEffect, before->written, file + " goes before it");
        std::erase_if(settings_, [&](const StoreSetting& one) { return one.name == setting.name; });
      }
      settings_.push_back(std::move(setting));
    } else if (row->use == SettingUse::kNotModelled && !off(setting.value)) {
      draft_.remark(Standing::kNotModelled, setting.written, std::string(row->why));
    } else {
      draft_.remark(Standing::kNoEffect, setting.written, std::string(row->why));
    }
  }
  static bool off(const std::string& value) {
    const std::string word = lower_case(value);
    return word == "0" || word == "false";
  }

  /// GiB over all ranks of an instance.
  void sizes() {
    const StoreSetting* cpu = find("CPU_CACHE_GB");
    const StoreSetting* ssd = find("SSD_CACHE_GB");
    const std::int64_t host =
        cpu == nullptr ? kFlexkvUsualGib : whole_setting(*cpu, 1, kFlexkvMostGib);
    const std::int64_t disk = ssd == nullptr ? 0 : whole_setting(*ssd, 0, kFlexkvMostGib);
    tier(0, "dram", "dram", host, cpu);
    if (ssd == nullptr) return;
    if (disk == 0) return draft_.remark(Standing::kNoEffect, ssd->written, "no SSD");
    if (disk <= host) {
      refuse_setting(*ssd,
                     fmt::format("more than the {} GiB of host memory, as FlexKV does", host));
    }
    tier(1, "ssd", "nvme", disk, ssd);
  }

  void tier(int place, const char* name, const char* kind, std::int64_t gib,
            const StoreSetting* from) {
    const std::string at = fmt::format("tiers.{}", place);
    const std::string origin = from == nullptr ? "FLEXKV_CPU_CACHE_GB, its default of 16"
                                               : from->written + ", GiB of all ranks";
    draft_.set(at + ".name", name, origin);
    draft_.set(at + ".kind", kind, "");
    draft_.set(at + ".capacity", bytes_text(gib * kFlexkvGib), origin);
    if (from == nullptr) {
      draft_.remark(Standing::kAssumed, "FLEXKV_CPU_CACHE_GB is not set", "FlexKV takes 16 GiB");
    } else {
      draft_.remark(Standing::kUsed, from->written, at + ".capacity");
    }
  }

  /// One policy for all tiers.
  void eviction() {
    const StoreSetting* given = find("EVICTION_POLICY");
    if (given == nullptr) return;
    const std::string name(kFlexkvEvictions[choice_setting(*given, kFlexkvEvictions)]);
    for (const char* tier : {"tiers.0", "tiers.1"}) {
      if (draft_.has(tier)) draft_.set(std::string(tier) + ".eviction", name, given->written);
    }
    draft_.remark(Standing::kUsed, given->written, "tiers.0.eviction");
  }

  void share(std::string_view name, const char* key) {
    const StoreSetting* given = find(name);
    if (given == nullptr) return;
    const double value = real_setting(*given, 0, 1);
    if (value == 0 && name == "EVICT_START_THRESHOLD") refuse_setting(*given, "a number above 0");
    put(*given, fmt::format("engine.flexkv.{}", key), number_as_json(value));
  }
  void whole(std::string_view name, const char* key, std::int64_t least, std::int64_t most) {
    const StoreSetting* given = find(name);
    if (given == nullptr) return;
    put(*given, fmt::format("engine.flexkv.{}", key), whole_setting(*given, least, most));
  }

  const EngineCall& call_;
  Draft& draft_;
  StoreSettings settings_;
};

}  // namespace

std::span<const SettingRow> flexkv_variables() {
  return kFlexkvRows;
}

bool is_flexkv_key(std::string_view key) {
  return key == "cpu_cache_gb" || key == "ssd_cache_gb" || key == "ssd_cache_dir";
}

void read_flexkv_settings(const EngineCall& call, Draft& draft) {
  FlexkvReader(call, draft).read();
}

}  // namespace spillway
