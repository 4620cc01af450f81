// Sources: kvcache-ai/Mooncake, mooncake-store/src/master.cpp (flags; a flag goes before the file),
// docs/source/deployment/mooncake-store-configuration-reference.md @ 7f95787f,
// docs/source/deployment/ssd/ssd-offload.md @ 05ee27c0.
#include "scenarios/scenario/intake/mooncake_master.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/yaml_nodes.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

enum class MasterValue : std::uint8_t { kMilliseconds, kSeconds, kShare, kTruth, kCount };

/// A flag that is a key of the store.
struct MasterKey {
  std::string_view flag;
  std::string_view key;
  MasterValue value;
};
constexpr MasterKey kMasterKeys[] = {
    {"default_kv_lease_ttl", "lease_ms", MasterValue::kMilliseconds},
    {"default_kv_soft_pin_ttl", "soft_pin_ms", MasterValue::kMilliseconds},
    {"allow_evict_soft_pinned_objects", "allow_evict_soft_pinned", MasterValue::kTruth},
    {"eviction_high_watermark_ratio", "high_watermark", MasterValue::kShare},
    {"eviction_ratio", "eviction_ratio", MasterValue::kShare},
    {"put_start_discard_timeout_sec", "put_discard_s", MasterValue::kSeconds},
    {"put_start_release_timeout_sec", "put_release_s", MasterValue::kSeconds},
    {"enable_offload", "enable_offload", MasterValue::kTruth},
    {"offload_on_evict", "offload_on_evict", MasterValue::kTruth},
    {"offload_force_evict", "offload_force_evict", MasterValue::kTruth},
    {"offloading_queue_limit", "offload_queue_limit", MasterValue::kCount},
    {"offload_cap_ratio", "offload_cap_ratio", MasterValue::kShare},
};

constexpr std::string_view kOfMaster = "how the master is reached and watched";
constexpr std::string_view kOfPromotion = "objects on the SSD are read from there each time";
constexpr std::string_view kOfTenants = "all clients are one tenant";
constexpr SettingRow kMasterRows[] = {
    read_row("config_path"),
    left_row("promotion_on_hit", kOfPromotion),
    idle_row("promotion_admission_threshold", kOfPromotion),
    idle_row("promotion_max_per_heartbeat", kOfPromotion),
    idle_row("promotion_queue_limit", kOfPromotion),
    left_row("allocation_strategy", "objects go to the segments with most free bytes"),
    left_row("enable_cxl", "the memory is of one kind"),
    idle_row("cxl_path", "the memory is of one kind"),
    idle_row("cxl_size", "the memory is of one kind"),
    left_row("root_fs_dir", "a shared file system behind the store is left out"),
    idle_row("global_file_segment_size", "a shared file system behind the store is left out"),
    idle_row("quota_bytes", "a shared file system behind the store is left out"),
    idle_row("enable_disk_eviction", "a shared file system behind the store is left out"),
    left_row("enable_multi_tenants", kOfTenants),
    left_row("enable_tenant_quota", kOfTenants),
    idle_row("default_tenant_quota_bytes", kOfTenants),
    idle_row("tenant_quota_", kOfTenants),
    left_row("enable_nof", "NVMe over fabrics is left out"),
    idle_row("nof_", "NVMe over fabrics is left out"),
    idle_row("memory_allocator", "how the memory is cut is not modelled"),
    idle_row("client_ttl", "clients do not leave"),
    idle_row("client_live_ttl_sec", "clients do not leave"),
    idle_row("enable_ha", "the master does not fail"),
    idle_row("ha_", "the master does not fail"),
    idle_row("etcd_", "the master does not fail"),
    idle_row("cluster_id", "the master does not fail"),
    idle_row("oplog_", "the master does not fail"),
    idle_row("enable_snapshot", "the master does not fail"),
    idle_row("enable_snapshot_restore", "the master does not fail"),
    idle_row("snapshot_", "the master does not fail"),
    idle_row("pod_name", kOfMaster),
    idle_row("pod_namespace", kOfMaster),
    idle_row("port", kOfMaster),
    idle_row("max_threads", kOfMaster),
    idle_row("rpc_", kOfMaster),
    idle_row("metrics_port", kOfMaster),
    idle_row("metrics_host", kOfMaster),
    idle_row("enable_metric_reporting", kOfMaster),
    idle_row("enable_http_metadata_server", kOfMaster),
    idle_row("http_metadata_server_", kOfMaster),
    idle_row("max_total_", kOfMaster),
    idle_row("max_retry_attempts", kOfMaster),
    idle_row("pending_task_timeout_sec", kOfMaster),
    idle_row("processing_task_timeout_sec", kOfMaster),
    // glog's and gflags' own
    idle_row("flagfile", kOfMaster),
    idle_row("log_dir", kOfMaster),
    idle_row("max_log_size", kOfMaster),
    idle_row("logtostderr", kOfMaster),
    idle_row("alsologtostderr", kOfMaster),
    idle_row("colorlogtostderr", kOfMaster),
    idle_row("stderrthreshold", kOfMaster),
    idle_row("minloglevel", kOfMaster),
    idle_row("logbufsecs", kOfMaster),
    idle_row("v", kOfMaster),
    idle_row("vmodule", kOfMaster),
};

const MasterKey* master_key(std::string_view flag) {
  const auto* const found = std::find_if(std::begin(kMasterKeys), std::end(kMasterKeys),
                                         [&](const MasterKey& row) { return row.flag == flag; });
  return found == std::end(kMasterKeys) ? nullptr : found;
}

std::vector<std::string_view> master_names() {
  std::vector<std::string_view> out = names_of_rows(kMasterRows);
  for (const MasterKey& row : kMasterKeys) out.push_back(row.flag);
  return out;
}

std::vector<std::string_view> master_switches() {
  std::vector<std::string_view> out = {"enable_ha",
                                       "enable_snapshot",
                                       "enable_metric_reporting",
                                       "enable_http_metadata_server",
                                       "promotion_on_hit",
                                       "enable_cxl",
                                       "enable_disk_eviction",
                                       "logtostderr",
                                       "alsologtostderr",
                                       "rpc_enable_tcp_no_delay"};
  for (const MasterKey& row : kMasterKeys) {
    if (row.value == MasterValue::kTruth) out.push_back(row.flag);
  }
  return out;
}

/// "10000", "10000ms", "10s", "30m", "1h", in milliseconds.
double milliseconds_in(const StoreSetting& setting) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}};
  std::string_view text = setting.value;
  double scale = 1;
  for (const auto& [unit, ms] : kUnits) {
    if (!text.ends_with(unit)) continue;
    scale = ms;
    text.remove_suffix(unit.size());
    break;
  }
  const auto value = parse_whole<std::int64_t>(text);
  if (!value || *value < 0) refuse_setting(setting, "milliseconds, such as 10000, or 10s");
  return static_cast<double>(*value) * scale;
}

nlohmann::ordered_json master_value(const MasterKey& row, const StoreSetting& setting) {
  switch (row.value) {
    case MasterValue::kMilliseconds:
      return number_as_json(milliseconds_in(setting));
    case MasterValue::kSeconds:
      return whole_setting(setting, 0);
    case MasterValue::kShare:
      return number_as_json(real_setting(setting, 0, 1));
    case MasterValue::kTruth:
      return truth_setting(setting);
    case MasterValue::kCount:
      break;
  }
  return whole_setting(setting, 1, 100'000'000);
}

/// Of the file that --config_path names; a key that the master has not is not looked at.
StoreSettings file_settings(const EngineCall& master, const StoreSetting& path, Draft& draft) {
  const std::optional<CallFile> file = file_of_call(master, path.value);
  if (!file) {
    draft.remark(Standing::kNotModelled, path.written,
                 "the file does not lie here, and its settings are left out: give it as another "
                 "input");
    return {};
  }
  draft.remark(Standing::kUsed, path.written, "its settings");
  StoreSettings out;
  try {
    const YAML::Node root = YAML::Load(file->text);
    if (root.IsNull()) return out;
    expect_map(root, file->name, "");
    for (const auto& entry : root) {
      const std::string name = scalar(entry.first);
      const std::string value = scalar(entry.second);
      out.push_back({name, value, fmt::format("{}: {}: {}", file->name, name, value),
                     place_of(entry.second, file->name, name)});
    }
  } catch (const YAML::Exception& error) {
    throw InputError(Fault::kUsage, {file->name, error.mark.line + 1, ""},
                     fmt::format("no YAML or JSON: {}; expected the master's settings", error.msg));
  }
  return out;
}

class MasterReader {
 public:
  MasterReader(const EngineCall& master, std::string at, Draft& draft)
      : master_(master), at_(std::move(at)), draft_(draft) {}

  bool read() {
    const StoreSettings flags = gflags_of(master_, master_switches());
    if (const StoreSetting* path = find_setting(flags, "config_path")) {
      of_file_ = file_settings(master_, *path, draft_);
    }
    for (const StoreSetting& one : of_file_) take(one, find_setting(flags, one.name), true);
    for (const StoreSetting& one : flags) {
      const StoreSetting* last = find_setting(flags, one.name);
      take(one, last == &one ? nullptr : last, false);
    }
    return offload_;
  }

 private:
  void take(const StoreSetting& one, const StoreSetting* later, bool file) {
    const MasterKey* key = master_key(one.name);
    const SettingRow* row = setting_row(kMasterRows, one.name);
    if (key == nullptr && row == nullptr) {
      if (file) return remark_unknown(one, "Mooncake's master", master_names(), "", draft_);
      throw InputError(Fault::kUsage, one.where,
                       did_you_mean(one.name, master_names(), "--") +
                           "mooncake_master refuses a flag that it does not have; expected one "
                           "such as --default_kv_lease_ttl");
    }
    if (later != nullptr) {
      return draft_.remark(Standing::kNoEffect, one.written, later->written + " goes before it");
    }
    if (key != nullptr) {
      const nlohmann::ordered_json value = master_value(*key, one);
      if (key->flag == "enable_offload") offload_ = value == true;
      const std::string target = fmt::format("{}.store.{}", at_, key->key);
      draft_.set(target, value, one.written);
      return draft_.remark(Standing::kUsed, one.written, target);
    }
    if (row->use == SettingUse::kRead) return;
    const std::string word = lower_case(one.value);
    const bool usual = word == "false" || word == "0" || word.empty() ||
                       (one.name == "allocation_strategy" && word == "free_ratio_first");
    draft_.remark(row->use == SettingUse::kNotModelled && !usual ? Standing::kNotModelled
                                                                 : Standing::kNoEffect,
                  one.written, std::string(row->why));
  }

  const EngineCall& master_;
  std::string at_;
  Draft& draft_;
  StoreSettings of_file_;
  bool offload_ = false;
};

}  // namespace

StoreSettings gflags_of(const EngineCall& process, std::span<const std::string_view> switches) {
  const auto is_switch = [&](std::string_view name) {
    return std::find(switches.begin(), switches.end(), name) != switches.end();
  };
  StoreSettings out;
  for (std::size_t i = 0; i < process.words.size(); ++i) {
    const std::string& word = process.words[i].text;
    if (!word.starts_with("-")) continue;
    std::string name = word.substr(word.starts_with("--") ? 2 : 1);
    StoreSetting one;
    one.written = word;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      one.value = name.substr(equals + 1);
      name.resize(equals);
    } else if (is_switch(name)) {
      one.value = "true";
    } else if (name.starts_with("no") && is_switch(std::string_view(name).substr(2))) {
      one.value = "false";
      name.erase(0, 2);
    } else if (i + 1 < process.words.size() && !process.words[i + 1].text.starts_with("-")) {
      one.value = process.words[++i].text;
      one.written += " " + one.value;
    }
    std::replace(name.begin(), name.end(), '-', '_');
    one.name = name;
    one.where = process.where;
    one.where.field = "--" + name;
    out.push_back(std::move(one));
  }
  return out;
}

bool is_mooncake_master_key(std::string_view key) {
  return key == "default_kv_lease_ttl" || key == "eviction_high_watermark_ratio" ||
         key == "default_kv_soft_pin_ttl" || key == "enable_http_metadata_server" ||
         key == "rpc_thread_num" || key == "offload_on_evict";
}

bool read_mooncake_master(const EngineCall& master, const std::string& at, Draft& draft) {
  return MasterReader(master, at, draft).read();
}

}  // namespace spillway
