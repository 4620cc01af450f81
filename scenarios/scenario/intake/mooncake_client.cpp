// Sources: as of mooncake_settings.cpp.
#include "scenarios/scenario/intake/mooncake_client.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <utility>

#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/mooncake_master.hpp"
#include "scenarios/scenario/intake/yaml_nodes.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using ClientJson = nlohmann::ordered_json;

constexpr std::string_view kClientFile = "SGLANG_HICACHE_MOONCAKE_CONFIG_PATH";
// vllm-project/vllm @ 01529cf1: docs/features/mooncake_store_connector_usage.md
constexpr std::string_view kVllmFile = "MOONCAKE_CONFIG_PATH";
constexpr std::string_view kWayToStore = "how a client finds the store";
constexpr std::string_view kClientSwitches[] = {"enable_offload", "start_offload_rpc_server"};

/// Keys of a client's file and of --hicache-storage-backend-extra-config.
constexpr SettingRow kClientRows[] = {
    read_row("global_segment_size"),
    read_row("mode"),
    idle_row("enable_offload", "flags of the master and of mooncake_client decide it"),
    read_row("standalone_storage"),
    read_row("client_server_address"),
    read_row("enable_ssd_offload"),
    idle_row("ssd_offload_path", "where the SSD lies"),
    idle_row("master_server_address", kWayToStore),
    idle_row("master_metrics_port", kWayToStore),
    idle_row("local_hostname", kWayToStore),
    idle_row("metadata_server", kWayToStore),
    idle_row("check_server", kWayToStore),
    idle_row("protocol", "links or tiers[].device have the rates of the copies"),
    idle_row("device_name", "links or tiers[].device have the rates of the copies"),
    idle_row("local_buffer_size", "buffers of its copies are not modelled"),
    left_row("tenant_id", "all clients are one tenant"),
    idle_row("extra_backend_tag", "all clients share their objects"),
    left_row("enable_group_semantics", "objects leave one by one"),
    idle_row("hicache_storage_pass_prefix_keys", kWayToStore),
    idle_row("interface_v1", kWayToStore),
    idle_row("tp_lcm_size", kWayToStore),
};

/// Variables that say the same as a key of the file.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSameInFile = {
    {{"GLOBAL_SEGMENT_SIZE", "global_segment_size"},
     {"STANDALONE_STORAGE", "standalone_storage"},
     {"CLIENT", "client_server_address"},
     {"ENABLE_SSD_OFFLOAD", "enable_ssd_offload"}}};

StoreSettings of_json(const ClientJson& root, const std::string& origin, const SourceRef& where) {
  StoreSettings out;
  for (const auto& [key, value] : root.items()) {
    if (key.starts_with("prefetch_")) continue;  // HiCache's own
    SourceRef place = where;
    place.field = key;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    out.push_back({key, text, origin + key + " " + text, place});
  }
  return out;
}

/// A file of JSON, with the lines of its keys.
StoreSettings of_file(const CallFile& file) {
  StoreSettings out;
  try {
    const YAML::Node root = YAML::Load(file.text);
    expect_map(root, file.name, "");
    for (const auto& entry : root) {
      const std::string name = scalar(entry.first);
      const std::string value = scalar(entry.second);
      out.push_back({name, value, fmt::format("{}: {}: {}", file.name, name, value),
                     place_of(entry.second, file.name, name)});
    }
  } catch (const YAML::Exception& error) {
    throw InputError(
        Fault::kUsage, {file.name, error.mark.line + 1, ""},
        fmt::format("no JSON: {}; expected the settings of a client of Mooncake Store", error.msg));
  }
  return out;
}

class ClientReader {
 public:
  ClientReader(const EngineCall& call, const StoreSettings& variables, Draft& draft)
      : call_(call), variables_(variables), draft_(draft) {}

  StoreSettings read(const ClientJson& extra) {
    client(extra);
    for (const StoreSetting& one : client_) tell(one);
    return std::move(client_);
  }

  /// vLLM's connector has a file, and nothing else.
  StoreSettings read_vllm() {
    const auto path = call_.environment.find(kVllmFile);
    if (path == call_.environment.end()) {
      draft_.remark(Standing::kAssumed, "MOONCAKE_CONFIG_PATH is not set",
                    "vLLM finds no store without its file; its defaults are taken");
    } else {
      file(kVllmFile, path->second);
    }
    for (const StoreSetting& one : client_) tell(one);
    return std::move(client_);
  }

 private:
  /// Settings of one source only: those of the command line, else the file, else variables.
  void client(const ClientJson& extra) {
    const auto has = [&](const char* key) {
      return extra.is_object() && extra.contains(key) && !extra[key].is_null();
    };
    const bool told = has("master_server_address") || has("client_server_address");
    if (extra.is_object()) {
      StoreSettings given = of_json(extra, "--hicache-storage-backend-extra-config ", call_.where);
      if (told) {
        client_ = std::move(given);
      } else {
        for (const StoreSetting& one : given) unused(one);
      }
    }
    const auto path = call_.environment.find(kClientFile);
    if (path != call_.environment.end() && !told) return file(kClientFile, path->second);
    for (const auto& [name, key] : kSameInFile) {
      const StoreSetting* variable = find_setting(variables_, name);
      if (variable == nullptr) continue;
      if (told) {
        draft_.remark(Standing::kNoEffect, variable->written,
                      "--hicache-storage-backend-extra-config goes before it");
        continue;
      }
      StoreSetting same = *variable;
      same.name = key;
      client_.push_back(std::move(same));
    }
  }

  void file(std::string_view variable, const std::string& path) {
    const std::string written = fmt::format("{}={}", variable, path);
    const std::optional<CallFile> found = file_of_call(call_, path);
    if (!found) {
      return draft_.remark(Standing::kNotModelled, written,
                           "the file does not lie here, and its settings are left out: give it as "
                           "another input");
    }
    draft_.remark(Standing::kUsed, written, "its settings");
    client_ = of_file(*found);
    for (const auto& [name, key] : kSameInFile) {
      if (const StoreSetting* given = find_setting(variables_, name)) {
        draft_.remark(Standing::kNoEffect, given->written, found->name + " goes before it");
      }
    }
  }

  void tell(const StoreSetting& one) {
    if (one.written.starts_with("MOONCAKE_")) return;  // told with all variables
    const SettingRow* row = setting_row(kClientRows, one.name);
    if (row == nullptr) {
      return remark_unknown(one, "Mooncake's client", names_of_rows(kClientRows), "", draft_);
    }
    if (row->use == SettingUse::kRead) return;
    draft_.remark(row->use == SettingUse::kNoEffect ? Standing::kNoEffect : Standing::kNotModelled,
                  one.written, std::string(row->why));
  }
  /// SGLang looks at them only with the address of a master or a client.
  void unused(const StoreSetting& one) {
    const SettingRow* row = setting_row(kClientRows, one.name);
    if (row == nullptr || row->use != SettingUse::kRead) return tell(one);
    draft_.remark(Standing::kNoEffect, one.written,
                  "only with master_server_address or client_server_address beside it");
  }

  const EngineCall& call_;
  const StoreSettings& variables_;
  Draft& draft_;
  StoreSettings client_;
};

}  // namespace

StoreSettings mooncake_client_settings(const EngineCall& call, const nlohmann::ordered_json& extra,
                                       const StoreSettings& variables, Draft& draft) {
  return ClientReader(call, variables, draft).read(extra);
}

StoreSettings vllm_client_settings(const EngineCall& call, const StoreSettings& variables,
                                   Draft& draft) {
  return ClientReader(call, variables, draft).read_vllm();
}

std::optional<StoreSetting> lent_segment(const EngineCall& store) {
  const StoreSettings flags = gflags_of(store, kClientSwitches);
  if (const StoreSetting* size = find_setting(flags, "global_segment_size")) return *size;
  if (store.engine == kMooncakeClient) {
    return StoreSetting{"global_segment_size", "4gb", "global_segment_size, its default of 4GB",
                        store.where};
  }
  if (const StoreSetting* path = find_setting(flags, "config")) {
    const std::optional<CallFile> found = file_of_call(store, path->value);
    if (!found) return std::nullopt;
    const StoreSettings all = of_file(*found);
    if (const StoreSetting* size = find_setting(all, "global_segment_size")) return *size;
    return std::nullopt;
  }
  const StoreSettings own = settings_of(store, "MOONCAKE_");
  if (const StoreSetting* size = find_setting(own, "GLOBAL_SEGMENT_SIZE")) return *size;
  return std::nullopt;
}

bool lends_ssd(const EngineCall& process) {
  if (process.engine != kMooncakeClient) return false;
  const StoreSettings flags = gflags_of(process, kClientSwitches);
  const StoreSetting* on = find_setting(flags, "enable_offload");
  return on != nullptr && truth_setting(*on);
}

std::int64_t segment_bytes(const StoreSetting& setting, bool spaced) {
  constexpr std::pair<std::string_view, int> kUnits[] = {
      {"gb", 30}, {"kb", 10}, {"mb", 20}, {"tb", 40}};
  std::string text = lower_case(setting.value);
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  int shift = 0;
  for (const auto& [unit, bits] : kUnits) {
    if ((bits != 30 && !spaced) || !text.ends_with(unit)) continue;
    shift = bits;
    text.resize(text.size() - unit.size());
    text.erase(text.find_last_not_of(' ') + 1);
    break;
  }
  const auto value = parse_whole<std::int64_t>(text);
  if (!value || *value < 0 || *value > (kMostStoreBytes >> shift)) {
    refuse_setting(setting, "bytes, 0 or more, or GiB such as 64gb");
  }
  return *value << shift;
}

bool is_mooncake_client_key(std::string_view key) {
  return key == "master_server_address" || key == "client_server_address" ||
         key == "global_segment_size";
}

}  // namespace spillway
