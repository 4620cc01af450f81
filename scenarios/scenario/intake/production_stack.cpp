// vLLM's production-stack: values of its Helm chart, as its templates make flags and variables of
// them (vllm-project/production-stack, helm/values.yaml and
// helm/templates/deployment-vllm-multi.yaml
// @ 010004ee).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/scenario/intake/manifest_kinds.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

/// vllmConfig: each key is a flag, and extraArgs are words.
void add_flags(const YAML::Node& config, EngineCall& around, EngineCalls& out) {
  const auto add = [&](std::string text) { around.words.push_back({std::move(text)}); };
  bool prefix_caching = false;
  for (const auto& entry : config) {
    const std::string key = scalar(entry.first);
    if (key == "extraArgs") {
      for (const std::string& word : texts(entry.second)) add(word);
      continue;
    }
    prefix_caching |= key == "enablePrefixCaching";
    if (!entry.second.IsScalar() || key == "v1" || key == "v0") continue;
    const std::string flag = flag_of_key(key);
    const std::string value = entry.second.Scalar();
    if (value == "false") {
      add("--no-" + flag.substr(2));
    } else {
      add(flag);
      if (value != "true") add(value);
    }
  }
  if (prefix_caching) return;
  add("--no-enable-prefix-caching");
  out.notes.push_back(
      "vllmConfig.enablePrefixCaching is not set: the chart turns prefix caching off");
}

std::string transfer_config(const YAML::Node& cache, bool v0) {
  const std::string role = scalar(child(cache, "kvRole"));  // of disaggregated prefill
  Json out = {{"kv_connector", v0 ? "LMCacheConnector" : "LMCacheConnectorV1"},
              {"kv_role", role.empty() ? "kv_both" : role}};
  return out.dump();
}

/// Sizes and switches, as the chart puts them into the container's environment.
void add_cache(const YAML::Node& cache, bool v0, EngineCall& around) {
  const std::string& file = around.where.file;
  const bool enabled =
      truth_at(child(cache, "enabled"), file, "lmcacheConfig.enabled").value_or(false);
  if (enabled) {
    around.words.push_back({"--kv-transfer-config"});
    around.words.push_back({transfer_config(cache, v0)});
  }
  for (const auto& entry : cache) {
    const std::string key = scalar(entry.first);
    if (key == "enabled" || !entry.second.IsScalar()) continue;
    // The chart takes both sizes for whole numbers; lmcache_settings.cpp does so too.
    double size = 0;
    if (key.ends_with("OffloadingBufferSize") &&
        (!YAML::convert<double>::decode(entry.second, size) || !(size >= 0))) {
      throw InputError(Fault::kUsage, place_of(entry.second, file, "lmcacheConfig." + key),
                       fmt::format("expected a number of GiB, found \"{}\"", scalar(entry.second)));
    }
    around.environment["lmcacheConfig." + key] = scalar(entry.second);
  }
  // Disaggregated prefill keeps no copy in host memory.
  if (enabled && scalar(child(cache, "enablePD")) == "true") {
    around.environment["LMCACHE_LOCAL_CPU"] = "False";
  }
}

}  // namespace

bool is_production_stack(const YAML::Node& node) {
  return node["servingEngineSpec"] && node["servingEngineSpec"].IsMap();
}

/// The router, and the server that all engines keep chunks in.
void surround_production_stack(const YAML::Node& node, EngineCall& around) {
  around.routing = scalar(child(node["routerSpec"], "routingLogic"));
  around.routing_from = "routerSpec.routingLogic: " + around.routing;
  const YAML::Node server = child(node, "cacheserverSpec");
  expect_map(server, around.where.file, "cacheserverSpec");
  if (!server || !server.IsMap() || scalar(child(server, "enabled")) == "false") return;
  around.environment["cacheserverSpec"] = "lm://cache-server";
  around.environment["cacheserverSpec.serde"] = scalar(child(server, "serde"));
}

bool is_model_spec(const YAML::Node& node) {
  return node["vllmConfig"] || (node["modelURL"] && node["repository"]);
}

void read_model_spec(const YAML::Node& node, const EngineCall& outer, EngineCalls& out) {
  EngineCall around = outer;
  const std::string& file = around.where.file;
  around.where.line = node.Mark().line + 1;
  const std::string name = scalar(node["name"]);
  if (scalar(node["enabled"]) == "false") {
    out.notes.push_back(fmt::format("modelSpec {}: enabled is false", name));
    return;
  }
  around.place = name.empty() ? "modelSpec" : fmt::format("modelSpec {}", name);
  around.image = fmt::format("{}:{}", scalar(node["repository"]), scalar(node["tag"]));
  if (std::string release = release_of_image(around.image); !release.empty()) {
    around.version = std::move(release);
    around.version_from = "image " + around.image;
  }
  around.replicas = whole_at(node["replicaCount"], file, "replicaCount");
  whole_at(node["requestGPU"], file, "requestGPU");
  const std::string type = scalar(node["requestGPUType"]);
  if (constexpr std::string_view kMig = "nvidia.com/mig-"; type.starts_with(kMig)) {
    around.mig = type.substr(kMig.size());
  }
  if (node["nodeSelectorTerms"]) take_affinity(node["nodeSelectorTerms"], around);
  for (const auto& [key, value] : environment_of(node["env"], {})) around.environment[key] = value;
  if (const std::string model = scalar(node["modelURL"]); !model.empty()) {
    around.words.push_back({model});
  }
  const YAML::Node config = node["vllmConfig"];
  const YAML::Node cache = node["lmcacheConfig"];
  expect_map(config, file, "vllmConfig");
  expect_map(cache, file, "lmcacheConfig");
  const bool v0 = scalar(child(config, "v0")) == "1";
  if (v0) {
    if (scalar(child(config, "v1")) == "1") {
      throw InputError(Fault::kUsage, place_of(config["v0"], file, "vllmConfig.v0"),
                       "contradicts vllmConfig.v1; expected one of them");
    }
    around.environment["VLLM_USE_V1"] = "0";
  }
  if (config && config.IsMap()) add_flags(config, around, out);
  if (cache && cache.IsMap()) add_cache(cache, v0, around);
  out.calls.push_back(std::move(around));
}

}  // namespace spillway
