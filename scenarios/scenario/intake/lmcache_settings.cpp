#include "scenarios/scenario/intake/lmcache_settings.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/intake/call_files.hpp"
#include "scenarios/scenario/intake/yaml_nodes.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

constexpr double kGibOfLmcache = 1073741824;  // it calls 2^30 bytes a GB (lmcache/v1/config.py)
constexpr double kDefaultCpuGib = 5;

struct Setting {
  std::string value;
  std::string origin;
  SourceRef where{};
};

/// Settings that are keys of engine.lmcache under the same or another name.
struct KeyRow {
  std::string_view name;
  std::string_view key;
  bool flag;  ///< else a number or a word
};
constexpr KeyRow kKeys[] = {
    {"chunk_size", "engine.lmcache.chunk_tokens", false},
    {"local_cpu", "engine.lmcache.local_cpu", true},
    {"save_decode_cache", "engine.lmcache.save_decode_cache", true},
    {"save_unfull_chunk", "engine.lmcache.save_unfull_chunk", true},
    {"min_retrieve_tokens", "engine.lmcache.min_retrieve_tokens", false},
    {"blocking_timeout_secs", "engine.lmcache.blocking_timeout_secs", false},
};
// Read together with others, or without an effect on what is simulated.
constexpr std::string_view kElsewhere[] = {
    "config_file", "max_local_cpu_size", "local_disk",   "max_local_disk_size",
    "remote_url",  "remote_serde",       "cache_policy", "use_layerwise"};
constexpr std::string_view kHarmless[] = {"log_level", "use_experimental", "lmcache_instance_id",
                                          "instance_id"};

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class SettingsReader {
 public:
  SettingsReader(const EngineCall& call, std::int64_t ranks, Draft& draft)
      : call_(call), ranks_(ranks), draft_(draft) {
    const ShellVariables& environment = call.environment;
    const auto file = environment.find("LMCACHE_CONFIG_FILE");
    if (file != environment.end()) read_file(file->second);
    read_chart(environment);
    for (const auto& [name, value] : environment) {
      if (!name.starts_with("LMCACHE_")) continue;
      SourceRef where = call.where;
      where.field = name;
      settings_[lowered(name.substr(8))] = {value, name + "=" + value, where};
    }
  }

  void write() {
    draft_.set("engine.offload_connector", "lmcache", "LMCacheConnectorV1");
    keys();
    host();
    disk();
    remote();
    policies();
    for (const auto& [name, setting] : settings_) {
      if (known(name)) continue;
      draft_.remark(Standing::kNotModelled, setting.origin, "this setting of LMCache is left out");
    }
  }

 private:
  void read_file(const std::string& path) {
    const std::optional<CallFile> file = file_of_call(call_, path);
    if (!file) {
      draft_.remark(Standing::kNotModelled, "LMCACHE_CONFIG_FILE=" + path,
                    "the file does not lie here; its settings are left out");
      return;
    }
    draft_.remark(Standing::kUsed, "LMCACHE_CONFIG_FILE=" + path, "its settings");
    try {
      const YAML::Node root = YAML::Load(file->text);
      if (!root.IsDefined() || root.IsNull()) return;
      expect_map(root, file->name, "");
      for (const auto& entry : root) {
        const std::string name = lowered(scalar(entry.first));
        if (entry.second.IsNull()) continue;
        if (!entry.second.IsScalar()) {
          if (!known(name)) {
            draft_.remark(Standing::kNotModelled, fmt::format("{}: {}", file->name, name),
                          "this setting of LMCache is left out");
            continue;
          }
          throw InputError(Fault::kUsage, place_of(entry.second, file->name, name),
                           "expected one value, found a list or a mapping");
        }
        const std::string value = scalar(entry.second);
        settings_[name] = {value, fmt::format("{}: {}: {}", file->name, name, value),
                           place_of(entry.second, file->name, name)};
      }
    } catch (const YAML::Exception& error) {
      throw InputError(Fault::kUsage, {file->name, error.mark.line + 1, ""},
                       fmt::format("no YAML: {}; expected LMCache's settings", error.msg));
    }
  }

  /// production-stack takes both sizes for whole numbers, so that less than one is none
  /// (helm/templates/deployment-vllm-multi.yaml).
  void read_chart(const ShellVariables& environment) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSizes = {
        {{"lmcacheConfig.cpuOffloadingBufferSize", "max_local_cpu_size"},
         {"lmcacheConfig.diskOffloadingBufferSize", "max_local_disk_size"}}};
    for (const auto& [key, name] : kSizes) {
      const auto found = environment.find(std::string(key));
      if (found == environment.end()) continue;
      const std::optional<double> value = parse_real(found->second);
      const std::string origin = fmt::format("{}: {}", key, found->second);
      if (value && *value < 1) {
        if (*value > 0) {
          draft_.remark(Standing::kAssumed, origin,
                        "the chart takes it for a whole number: less than 1 is 0, which is off");
        }
        settings_[std::string(name)] = {"0", origin};
      } else {
        settings_[std::string(name)] = {found->second, origin};
      }
    }
    // What the environment says itself goes before.
    const auto server = environment.find("cacheserverSpec");
    if (server != environment.end()) {
      settings_["remote_url"] = {server->second, "cacheserverSpec"};
      const auto serde = environment.find("cacheserverSpec.serde");
      if (serde != environment.end() && !serde->second.empty()) {
        settings_["remote_serde"] = {serde->second, "cacheserverSpec.serde: " + serde->second};
      }
    }
  }

  const Setting* find(const std::string& name) const {
    const auto found = settings_.find(name);
    return found == settings_.end() ? nullptr : &found->second;
  }
  [[noreturn]] static void fail(const Setting& setting, std::string_view expected) {
    throw InputError(Fault::kUsage, setting.where,
                     fmt::format("expected {}, found \"{}\"", expected, setting.value));
  }
  std::optional<double> number(const std::string& name) const {
    const Setting* setting = find(name);
    if (setting == nullptr || setting->value.empty()) return std::nullopt;
    const std::optional<double> value = parse_real(setting->value);
    if (!value || !(*value >= 0)) fail(*setting, "a number");
    return value;
  }
  /// As LMCache reads it (lmcache/v1/config.py, _to_bool).
  static bool truth(const Setting& setting) {
    const std::string word = lowered(setting.value);
    if (word == "true" || word == "1" || word == "yes" || word == "on") return true;
    if (word == "false" || word == "0" || word == "no" || word == "off") return false;
    fail(setting, "true or false");
  }
  static bool known(const std::string& name) {
    return std::any_of(std::begin(kKeys), std::end(kKeys),
                       [&](const KeyRow& row) { return row.name == name; }) ||
           std::find(std::begin(kElsewhere), std::end(kElsewhere), name) != std::end(kElsewhere) ||
           std::find(std::begin(kHarmless), std::end(kHarmless), name) != std::end(kHarmless);
  }

  void keys() {
    for (const KeyRow& row : kKeys) {
      const Setting* setting = find(std::string(row.name));
      if (setting == nullptr) continue;
      if (row.flag) {
        draft_.set(std::string(row.key), truth(*setting), setting->origin);
      } else if (const auto value = parse_real(setting->value);
                 value && *value == std::floor(*value)) {
        draft_.set(std::string(row.key), static_cast<std::int64_t>(*value), setting->origin);
      } else if (value) {
        draft_.set(std::string(row.key), *value, setting->origin);
      } else {
        fail(*setting, "a number");
      }
      draft_.remark(Standing::kUsed, setting->origin, std::string(row.key));
    }
  }

  std::string size(double gib) const {
    return bytes_text(static_cast<std::int64_t>(gib * kGibOfLmcache) * ranks_);
  }
  std::string scope() const {
    return ranks_ == 1 ? "" : fmt::format(", of each of {} ranks", ranks_);
  }
  std::string next_tier(const std::string& name, const std::string& kind,
                        const std::string& origin) {
    const std::string tier = fmt::format("tiers.{}", tiers_++);
    draft_.set(tier + ".name", name, origin);
    draft_.set(tier + ".kind", kind, origin);
    return tier;
  }

  void host() {
    const Setting* given = find("max_local_cpu_size");
    const double gib = number("max_local_cpu_size").value_or(kDefaultCpuGib);
    const std::string origin =
        given != nullptr ? given->origin : "max_local_cpu_size, LMCache's default";
    const std::string tier = next_tier("dram", "dram", origin + scope());
    draft_.set(tier + ".capacity", size(gib), origin + scope());
    if (given != nullptr) {
      draft_.remark(Standing::kUsed, origin + scope(), tier + ".capacity");
    } else {
      draft_.remark(Standing::kAssumed, "max_local_cpu_size is not set",
                    fmt::format("LMCache takes 5 GiB{}", scope()));
    }
  }

  void disk() {
    const auto gib = number("max_local_disk_size");
    if (!gib || *gib <= 0) return;
    const std::string origin = find("max_local_disk_size")->origin;
    const std::string tier = next_tier("disk", "nvme", origin);
    draft_.set(tier + ".capacity", size(*gib), origin + scope());
    draft_.remark(Standing::kUsed, origin + scope(), tier + ".capacity");
    draft_.remark(Standing::kAssumed, "the local disk",
                  "its rates are of its kind; measure it with `spillway calibrate --scratch DIR`");
  }

  void remote() {
    const Setting* url = find("remote_url");
    if (url == nullptr || url->value.empty() || url->value == "null") return;
    const std::string scheme = url->value.substr(0, url->value.find("://"));
    const std::string kind = scheme == "s3" ? "object" : scheme == "fs" ? "fs" : "kv";
    const std::string tier = next_tier("remote", kind, url->origin);
    draft_.set(tier + ".scope", "cluster", url->origin);
    draft_.remark(Standing::kUsed, url->origin, tier);
    draft_.remark(Standing::kAssumed, "the remote store",
                  scheme == "redis" || scheme == "valkey"
                      ? "its room is without a bound (maxmemory is the server's) and its rates are "
                        "published ones; measure them with `spillway calibrate --redis HOST`"
                      : "its room is without a bound and its rates are of its kind");
    const Setting* serde = find("remote_serde");
    if (serde == nullptr || serde->value == "naive") return;
    if (serde->value == "cachegen") {
      draft_.set("engine.lmcache.remote_serde", "cachegen", serde->origin);
      draft_.remark(Standing::kUsed, serde->origin, "engine.lmcache.remote_serde");
    } else {
      draft_.remark(Standing::kNotModelled, serde->origin, "chunks are sent as they are");
    }
  }

  void policies() {
    if (const Setting* policy = find("cache_policy")) {
      const std::string name = lowered(policy->value);
      for (const char* known : {"lru", "lfu", "fifo", "mru"}) {
        if (name == known) draft_.set("tiers.0.eviction", name, policy->origin);
      }
      draft_.remark(draft_.has("tiers.0.eviction") ? Standing::kUsed : Standing::kNotModelled,
                    policy->origin, "tiers.0.eviction");
    }
    if (const Setting* layers = find("use_layerwise"); layers != nullptr && truth(*layers)) {
      if (tiers_ == 1) {
        draft_.set("engine.load", "layerwise", layers->origin);
        draft_.remark(Standing::kUsed, layers->origin, "engine.load");
      } else {
        draft_.remark(Standing::kNotModelled, layers->origin,
                      "layer by layer is simulated with host memory alone");
      }
    }
  }

  const EngineCall& call_;
  std::int64_t ranks_;
  Draft& draft_;
  std::map<std::string, Setting> settings_;
  std::uint32_t tiers_ = 0;
};

}  // namespace

void read_lmcache_settings(const EngineCall& call, std::int64_t ranks, Draft& draft) {
  SettingsReader(call, ranks, draft).write();
}

}  // namespace spillway
