// Sources: vllm-project/vllm, vllm/distributed/kv_transfer/kv_connector/factory.py and
// vllm/v1/kv_offload; llm-d/llm-d-kv-cache, kv_connectors/llmd_fs_backend.
#include "scenarios/scenario/intake/vllm_connectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/intake/aibrix_settings.hpp"
#include "scenarios/scenario/intake/flexkv_settings.hpp"
#include "scenarios/scenario/intake/kvbm_settings.hpp"
#include "scenarios/scenario/intake/lmcache_settings.hpp"
#include "scenarios/scenario/intake/mooncake_settings.hpp"
#include "scenarios/scenario/intake/vllm_arguments.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kBlockTokens = 16;  // vLLM's default

std::string word_of(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : std::string();
}

class ConnectorReader {
 public:
  ConnectorReader(const EngineCall& call, const std::string& written, Draft& draft)
      : call_(call), transfer_text_(written), draft_(draft) {}

  void connector(const Json& config) {
    const std::string name = word_of(config, "kv_connector");
    const Json extra = config.contains("kv_connector_extra_config") &&
                               config["kv_connector_extra_config"].is_object()
                           ? config["kv_connector_extra_config"]
                           : Json::object();
    if (name == "MultiConnector" && extra.contains("connectors") &&
        extra["connectors"].is_array()) {
      for (const Json& one : extra["connectors"]) connector(one);
      return hybrid(extra["connectors"]);
    }
    const std::string given = word_of(config, "kv_role");
    const std::string role = given.empty() ? "kv_both" : given;
    if (name == "OffloadingConnector" && files(extra)) return shared_storage(extra);
    if (name == "OffloadingConnector" || name == "SimpleCPUOffloadConnector") {
      return native(name, extra);
    }
    if (name.starts_with("LMCacheConnectorV1") && role == "kv_both" && !draft_.has("tiers.0")) {
      if (config.contains("kv_load_failure_policy") &&
          config["kv_load_failure_policy"] == "recompute") {
        draft_.set("engine.kv_load_failure_policy", "recompute", "kv_load_failure_policy");
      }
      draft_.remark(Standing::kUsed, transfer_text_, "engine.offload_connector");
      return read_lmcache_settings(call_, ranks_of(draft_), draft_);
    }
    if (name.starts_with("LMCacheMPConnector") && role == "kv_both" && !draft_.has("tiers.0")) {
      return lmcache_server();
    }
    if (name == "DynamoConnector" && role == "kv_both" && !draft_.has("tiers.0")) {
      draft_.remark(Standing::kUsed, transfer_text_, "engine.preset");
      if (word_of(config, "kv_connector_module_path").starts_with("kvbm.v2")) {
        return read_kvbm_v2_settings(call_, extra, draft_);
      }
      return read_kvbm_settings(call_, draft_);
    }
    if (name.starts_with("AIBrixOffloadingConnector") && role == "kv_both" &&
        !draft_.has("tiers.0")) {
      draft_.remark(Standing::kUsed, transfer_text_, "engine.preset");
      return read_aibrix_settings(call_, name, ranks_of(draft_), draft_);
    }
    if (name == "MooncakeStoreConnector" && role == "kv_both" && !draft_.has("tiers.0")) {
      return mooncake(config);
    }
    if (name.starts_with("FlexKVConnector") && role == "kv_both" && !draft_.has("tiers.0")) {
      return flexkv();
    }
    draft_.remark(Standing::kNotModelled, transfer_text_,
                  fmt::format("{} is left out: nothing moves between instances, and no tier below "
                              "HBM is simulated for it",
                              name.empty() ? "the connector" : name));
  }

 private:
  std::string origin_of(const std::string& key) const {
    const auto told = call_.origins.find(key);
    return told == call_.origins.end() ? "kv_connector_extra_config." + key : told->second;
  }

  /// The native one first, then LMCache's server: simulated together. What else is there stands
  /// among the remarks.
  void hybrid(const Json& connectors) {
    const auto is = [&](std::size_t i, std::string_view name) {
      return connectors[i].contains("kv_connector") && connectors[i]["kv_connector"] == name;
    };
    if (connectors.size() != 2 || !draft_.has("tiers.0")) return;
    if (!is(0, "OffloadingConnector") || !is(1, "LMCacheMPConnector")) return;
    draft_.set("engine.offload_connector", "hybrid", "MultiConnector");
    draft_.set("tiers.1.name", "l1", "lmcache server");
    draft_.set("tiers.1.kind", "dram", "lmcache server");
    draft_.set("tiers.1.capacity", "64GiB", "assumed: --l1-size-gb of lmcache server");
    draft_.remark(Standing::kAssumed, "lmcache server",
                  "the size of L1 is a flag of that process: set tiers.1.capacity to its "
                  "--l1-size-gb");
    draft_.forget(Standing::kNotModelled, transfer_text_);
  }

  void mooncake(const Json& config) {
    if (word_of(config, "kv_load_failure_policy") == "recompute") {
      draft_.set("engine.kv_load_failure_policy", "recompute", "kv_load_failure_policy");
    }
    draft_.remark(Standing::kUsed, transfer_text_, "engine.preset");
    read_vllm_mooncake(call_, ranks_of(draft_), draft_);
  }

  /// ENABLE_FLEXKV=0 switches it off.
  void flexkv() {
    const auto on = call_.environment.find("ENABLE_FLEXKV");
    if (on != call_.environment.end() && on->second == "0") {
      return draft_.remark(Standing::kNotModelled, transfer_text_,
                           "ENABLE_FLEXKV=0 switches FlexKV off: nothing is offloaded");
    }
    draft_.remark(Standing::kUsed, transfer_text_, "engine.preset");
    read_flexkv_settings(call_, draft_);
  }

  /// Its sizes are flags of another process, `lmcache server`.
  void lmcache_server() {
    draft_.set("engine.offload_connector", "lmcache-mp", "LMCacheMPConnector");
    draft_.set("tiers.0.name", "l1", "lmcache server");
    draft_.set("tiers.0.kind", "dram", "lmcache server");
    draft_.set("tiers.0.capacity", "64GiB", "assumed: --l1-size-gb of lmcache server");
    draft_.remark(Standing::kUsed, transfer_text_, "engine.offload_connector");
    draft_.remark(Standing::kAssumed, "lmcache server",
                  "the size of L1 and what is behind it are flags of that process: set "
                  "tiers.0.capacity to its --l1-size-gb");
  }

  /// llm-d's FS backend is a spec of the same connector (kv_connectors/llmd_fs_backend).
  static bool files(const Json& extra) {
    return extra.contains("spec_name") && extra["spec_name"] == "SharedStorageOffloadingSpec";
  }
  void shared_storage(const Json& extra) {
    const bool below = draft_.has("tiers.0");
    const std::string path = word_of(extra, "shared_storage_path");
    const std::string tier = below ? "tiers.1" : "tiers.0";
    draft_.set(tier + ".name", "fs", "shared_storage_path");
    draft_.set(tier + ".kind", "fs", "shared_storage_path");
    if (!set_volume(call_, path, tier, draft_)) {
      if (!below) draft_.set(tier + ".capacity", "inf", "assumed: the size of the volume");
      draft_.set(tier + ".scope", "cluster", "shared_storage_path");
    }
    draft_.remark(
        Standing::kAssumed, "the shared storage",
        fmt::format("its size and rates: set {0}.capacity to that of the volume, and {0}.evictor "
                    "where the PVC evictor runs",
                    tier));
    if (below) {
      return draft_.remark(Standing::kAssumed, "MultiConnector",
                           "both connectors are simulated as tiers of vLLM's own: files lie below "
                           "dram. Threads and file sizes of llm-d's backend are left out");
    }
    draft_.set("engine.offload_connector", "llmd-fs", "SharedStorageOffloadingSpec");
    for (const char* key : {"block_size", "threads_per_gpu", "max_write_queued_seconds"}) {
      if (extra.contains(key) && extra[key].is_number_integer()) {
        draft_.set(fmt::format("engine.llmd.{}", key), extra[key],
                   fmt::format("kv_connector_extra_config.{}", key));
      }
    }
    if (extra.contains("read_preferring_ratio") && extra["read_preferring_ratio"].is_number()) {
      draft_.set("engine.llmd.read_preferring_ratio", extra["read_preferring_ratio"],
                 "kv_connector_extra_config.read_preferring_ratio");
    }
    draft_.remark(Standing::kUsed, transfer_text_, "engine.offload_connector");
  }

  void native(const std::string& name, const Json& extra) {
    const auto number = [&](const char* key) -> std::optional<std::int64_t> {
      if (!extra.contains(key)) return std::nullopt;
      const Json& value = extra[key];
      if (value.is_number()) return value.get<std::int64_t>();
      return value.is_string() ? human_integer(value.get<std::string>()) : std::nullopt;
    };
    const auto from = [&](const char* key) { return origin_of(key); };
    if (name == "SimpleCPUOffloadConnector") {
      draft_.set("engine.offload_connector", "simple", "kv_connector " + name);
    }
    if (const auto bytes = number("cpu_bytes_to_use")) {
      set_dram_tier(*bytes, from("cpu_bytes_to_use"), draft_);
    } else if (const auto blocks = number("num_cpu_blocks")) {
      set_dram_tier(1, from("num_cpu_blocks"), draft_);
      // Counted in blocks of its own size; the tier counts engine blocks.
      const std::int64_t own = draft_.at("engine.block_tokens").is_number_integer()
                                   ? draft_.at("engine.block_tokens").get<std::int64_t>()
                                   : kBlockTokens;
      const std::int64_t each = number("block_size").value_or(own) / std::max<std::int64_t>(1, own);
      draft_.set("tiers.0.capacity",
                 fmt::format("{}blocks", *blocks * std::max<std::int64_t>(1, each)),
                 from("num_cpu_blocks"));
    } else {
      set_dram_tier(0, "no size is given", draft_);
      draft_.remark(Standing::kNotModelled, transfer_text_,
                    "names no size (cpu_bytes_to_use): nothing is offloaded here");
    }
    if (const auto tokens = number("block_size")) {
      draft_.set("engine.offload_block_tokens", *tokens, from("block_size"));
    }
    if (const auto threshold = number("store_threshold"); threshold && *threshold > 1) {
      draft_.set("engine.store_threshold", *threshold, from("store_threshold"));
    }
    if (const auto tracked = number("max_tracker_size")) {
      draft_.set("engine.max_tracker_size", *tracked, from("max_tracker_size"));
    }
    for (const auto& [key, target] :
         {std::pair{"offload_prompt_only", "engine.offload_prompt_only"},
          std::pair{"lazy_offload", "engine.lazy_offload"}}) {
      if (extra.contains(key) && extra[key].is_boolean()) draft_.set(target, extra[key], from(key));
    }
    if (draft_.at("engine.lazy_offload") == true && name == "OffloadingConnector") {
      draft_.erase("engine.lazy_offload");
      draft_.remark(Standing::kNotModelled, "lazy_offload: true",
                    "the native connector stores what is computed, at once");
    }
    if (extra.contains("eviction_policy") && extra["eviction_policy"] == "arc") {
      draft_.set("tiers.0.eviction", "vllm-arc", from("eviction_policy"));
    }
    draft_.remark(Standing::kUsed, transfer_text_, "tiers");
    if (extra.contains("secondary_tiers") && extra["secondary_tiers"].is_array()) {
      for (const Json& one : extra["secondary_tiers"]) secondary(one);
    }
  }

  void secondary(const Json& config) {
    const std::string type = word_of(config, "type");
    const bool files = type == "fs" || type.starts_with("fs_");
    if (!files && type != "obj") {
      return draft_.remark(Standing::kNotModelled, fmt::format("secondary_tiers, type {}", type),
                           "no tier of this type is simulated");
    }
    const auto told = call_.origins.find(word_of(config, "root_dir"));
    const std::string origin =
        told == call_.origins.end() ? fmt::format("secondary_tiers, type {}", type) : told->second;
    const std::size_t place = ++tiers_behind_;
    const std::string tier = fmt::format("tiers.{}", place);
    draft_.set(tier + ".name", fmt::format("{}{}", files ? "fs" : "object", place), origin);
    draft_.set(tier + ".kind", files ? "fs" : "object", origin);
    for (const char* key : {"n_read_threads", "n_write_threads", "io_threads"}) {
      if (config.contains(key) && config[key].is_number_integer()) {
        draft_.set(tier + ".device." + key, config[key], origin);
      }
    }
    set_volume(call_, word_of(config, "root_dir"), tier, draft_);
    draft_.remark(Standing::kAssumed, origin,
                  "the store's bandwidth and latency are of its kind; measure it with "
                  "`spillway calibrate --scratch DIR`");
  }

  const EngineCall& call_;
  const std::string& transfer_text_;
  Draft& draft_;
  std::size_t tiers_behind_ = 0;
};

}  // namespace

void set_dram_tier(std::int64_t bytes, const std::string& origin, Draft& draft) {
  draft.set("tiers.0.name", "dram", origin);
  draft.set("tiers.0.kind", "dram", origin);
  draft.set("tiers.0.capacity", bytes_text(bytes), origin);
}

std::int64_t ranks_of(const Draft& draft) {
  std::int64_t out = 1;
  for (const char* key : {"engine.tensor_parallel_size", "engine.pipeline_parallel_size"}) {
    if (draft.at(key).is_number_integer()) out *= draft.at(key).get<std::int64_t>();
  }
  return out;
}

/// vLLM and llm-d delete no files themselves: a volume that is full refuses writes, or ends the
/// pod.
bool set_volume(const EngineCall& call, const std::string& path, const std::string& tier,
                Draft& draft) {
  const Volume* volume = path.empty() ? nullptr : volume_of(call, path);
  if (volume == nullptr) return false;
  if (volume->bytes) draft.set(tier + ".capacity", bytes_text(*volume->bytes), volume->from);
  if (volume->shared) draft.set(tier + ".scope", "cluster", volume->from);
  if (volume->bytes) {
    draft.remark(Standing::kAssumed, fmt::format("{} of {}", volume->from, path),
                 fmt::format("a full volume drops its oldest blocks here; the engine deletes none "
                             "({}.capacity)",
                             tier));
  }
  return volume->bytes.has_value();
}

void read_connector(const EngineCall& call, const nlohmann::ordered_json& config,
                    const std::string& written, Draft& draft) {
  ConnectorReader(call, written, draft).connector(config);
}

}  // namespace spillway
