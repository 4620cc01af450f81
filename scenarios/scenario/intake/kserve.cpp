// KServe's resources: LLMInferenceService, whose controller makes vLLM's OffloadingConnector of
// spec.kvCacheOffloading, and InferenceService with the Hugging Face runtime.
//
// Sources: kserve/kserve, pkg/apis/serving/v1alpha2 and pkg/controller/v1alpha2/llmisvc
// (kvTransferJSON, attachKVCacheSecondaryTiers), 2026; kserve/website,
// docs/model-serving/generative-inference/llmisvc/kv-cache-offloading.md @ 0e58422a.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "scenarios/scenario/intake/manifest_kinds.hpp"
#include "scenarios/scenario/intake/store_setting.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

// Fields of the CRD (pkg/apis/serving/v1alpha2/llm_inference_service_types.go), and those that only
// its guides have.
constexpr std::string_view kSpecFields[] = {
    "model",       "replicas",          "scaling",  "parallelism",       "labels",
    "annotations", "template",          "worker",   "prefill",           "router",
    "tracing",     "speculator",        "baseRefs", "kvCacheOffloading", "workload",
    "scheduler",   "storageInitializer"};
constexpr std::string_view kModelFields[] = {"uri", "name", "lora", "confidential", "criticality"};
constexpr std::string_view kParallelFields[] = {"tensor",    "pipeline",    "data",
                                                "dataLocal", "dataRPCPort", "expert"};
constexpr std::string_view kOffloadFields[] = {"cpu", "evictionPolicy", "secondary", "fileSystem",
                                               "objectStore"};
constexpr std::string_view kCpuFields[] = {"size", "evictionPolicy", "blockSize"};
constexpr std::string_view kSecondaryFields[] = {"fileSystem"};
constexpr std::string_view kSystemFields[] = {"emptyDir", "pvc"};
constexpr std::string_view kEmptyDirFields[] = {"size"};
constexpr std::string_view kPvcFields[] = {"spec", "ref"};
constexpr std::string_view kRefFields[] = {"name", "path"};
constexpr std::string_view kPathFields[] = {"path", "readThreads", "writeThreads"};

class ServiceReader {
 public:
  ServiceReader(const YAML::Node& node, const EngineCall& around, EngineCalls& out)
      : spec_(node["spec"]), call_(around), out_(out) {}

  void read() {
    if (!spec_ || !spec_.IsMap() || !spec_["model"]) return;
    call_.where.line = spec_.Mark().line + 1;
    known_fields(spec_, "spec", kSpecFields);
    known_fields(spec_["workload"], "spec.workload", kSpecFields);
    take_surroundings(spec_, call_);
    call_.replicas = whole_at(spec_["replicas"], file(), "spec.replicas");
    model();
    parallelism();
    const YAML::Node pod = spec_["template"];
    if (pod && pod.IsMap()) container(pod);
    // The CRD has the section in spec itself; the guide writes it below spec.workload.
    const YAML::Node guide = child(spec_["workload"], "kvCacheOffloading");
    if (guide) offloading(guide, "spec.workload.kvCacheOffloading");
    if (spec_["kvCacheOffloading"]) {
      if (guide) {
        throw InputError(Fault::kUsage,
                         place_of(spec_["kvCacheOffloading"], file(), "spec.kvCacheOffloading"),
                         "contradicts spec.workload.kvCacheOffloading; expected one of them");
      }
      offloading(spec_["kvCacheOffloading"], "spec.kvCacheOffloading");
    }
    if (spec_["prefill"] && spec_["prefill"].IsMap()) {
      out_.notes.push_back("spec.prefill: its engines are left out, prefill and decode run in one");
    }
    out_.calls.push_back(std::move(call_));
  }

 private:
  const std::string& file() const { return call_.where.file; }
  void add(std::string word) { call_.words.push_back({std::move(word)}); }
  [[noreturn]] void fail(const YAML::Node& at, const std::string& key,
                         const std::string& message) const {
    throw InputError(Fault::kUsage, place_of(at, file(), key), message);
  }

  /// The API server prunes what the CRD does not have.
  void known_fields(const YAML::Node& map, const std::string& key,
                    std::span<const std::string_view> known) {
    if (!map || !map.IsMap()) return;
    for (const auto& entry : map) {
      const std::string name = scalar(entry.first);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const StoreSetting one{name, "", key + "." + name, place_of(entry.first, file(), name)};
      call_.remarks.push_back(
          {Standing::kUnknown, one.written,
           fmt::format("{}: {}KServe does not know the field: its CRD prunes it, and it is ignored",
                       one.place(), did_you_mean(name, known, ""))});
    }
  }

  void model() {
    const YAML::Node node = spec_["model"];
    expect_map(node, file(), "spec.model");
    known_fields(node, "spec.model", kModelFields);
    std::string model = model_of_uri(scalar(node["uri"]));
    const std::string name = scalar(node["name"]);
    if (model.find("://") != std::string::npos && !name.empty()) model = name;
    if (model.empty()) model = name;
    add(model);
    if (!name.empty() && name != model) {
      add("--served-model-name");
      add(name);
    }
  }

  void parallelism() {
    const YAML::Node node = spec_["parallelism"];
    expect_map(node, file(), "spec.parallelism");
    known_fields(node, "spec.parallelism", kParallelFields);
    for (const char* key : {"tensor", "pipeline", "data"}) {
      const auto size = whole_at(child(node, key), file(), fmt::format("spec.parallelism.{}", key));
      if (!size || *size < 2) continue;
      add(fmt::format("--{}-parallel-size", key));
      add(std::to_string(*size));
    }
    if (scalar(child(node, "expert")) == "true") add("--enable-expert-parallel");
  }

  /// The first container is the engine's; what it is given goes behind the controller's own words.
  void container(const YAML::Node& pod) {
    take_surroundings(pod, call_);
    const YAML::Node containers = pod["containers"];
    if (!containers || !containers.IsSequence() || containers.size() == 0) return;
    const YAML::Node one = containers[0];
    take_surroundings(one, call_);
    take_container(one, call_);
    EngineCalls own;
    ShellCommand command;
    command.line = one.Mark().line + 1;
    for (const char* key : {"command", "args"}) {
      for (const std::string& word : texts(one[key])) {
        command.words.push_back(resolved_word(word, call_));
      }
    }
    find_calls({command}, call_, own);
    if (!own.calls.empty()) {
      call_.words = own.calls.front().words;
    } else if (!scalar(one["command"]).empty() || (one["command"] && one["command"].size() > 0)) {
      out_.notes.push_back("spec.template: its own command starts no engine that is known");
    } else {
      call_.words.insert(call_.words.end(), command.words.begin(), command.words.end());
    }
    const auto more = call_.environment.find("VLLM_ADDITIONAL_ARGS");
    if (more == call_.environment.end()) return;
    for (const ShellCommand& words : read_shell(more->second, call_.environment).commands) {
      call_.words.insert(call_.words.end(), words.words.begin(), words.words.end());
    }
  }

  /// Sizes are of a pod, which is an instance.
  void offloading(const YAML::Node& node, const std::string& key) {
    expect_map(node, file(), key);
    known_fields(node, key, kOffloadFields);
    const YAML::Node cpu = child(node, "cpu");
    known_fields(cpu, key + ".cpu", kCpuFields);
    const bool nested = cpu && cpu.IsMap();  // {size, evictionPolicy, blockSize}
    const YAML::Node policy = nested ? cpu["evictionPolicy"] : child(node, "evictionPolicy");
    const auto bytes = nested ? quantity_at(cpu["size"], file(), key + ".cpu.size")
                              : quantity_at(cpu, file(), key + ".cpu");
    const YAML::Node tiers = child(node, "secondary");
    const YAML::Node files = child(node, "fileSystem");
    const YAML::Node objects = child(node, "objectStore");
    if (!bytes || *bytes == 0) {
      if (tiers || files || objects) {
        fail(node, key + ".cpu",
             misspelt(node, "cpu") +
                 "expected a size such as 10Gi: secondary tiers need one of cpu");
      }
      return;
    }
    Json extra = {{"cpu_bytes_to_use", *bytes}};
    call_.origins["cpu_bytes_to_use"] = fmt::format(
        "{}: {}", nested ? key + ".cpu.size" : key + ".cpu", scalar(nested ? cpu["size"] : cpu));
    call_.origins["eviction_policy"] = key + ".evictionPolicy: " + scalar(policy);
    const std::string name = scalar(policy);
    if (!name.empty() && name != "lru" && name != "arc") {
      fail(policy, key + ".evictionPolicy", fmt::format("expected lru or arc, found \"{}\"", name));
    }
    if (!name.empty()) extra["eviction_policy"] = name;
    if (nested) {
      if (const auto tokens = whole_at(cpu["blockSize"], file(), key + ".cpu.blockSize")) {
        extra["block_size"] = *tokens;
      }
    }
    Json list = Json::array();
    secondary(tiers, key + ".secondary", list);
    file_systems(files, key + ".fileSystem", list);
    object_stores(objects, list);
    extra["spec_name"] = list.empty() ? "CPUOffloadingSpec" : "TieringOffloadingSpec";
    if (!list.empty()) extra["secondary_tiers"] = std::move(list);
    const Json config = {{"kv_connector", "OffloadingConnector"},
                         {"kv_role", "kv_both"},
                         {"kv_connector_extra_config", extra}};
    add("--kv-transfer-config");
    add(config.dump());
  }

  /// "did you mean cpu by "cpus"? ", where one of the fields that are not known is near.
  static std::string misspelt(const YAML::Node& node, std::string_view wanted) {
    for (const auto& entry : node) {
      const std::string name = scalar(entry.first);
      if (name != wanted && nearest_name(name, kOffloadFields) == wanted) {
        return fmt::format("did you mean {} by \"{}\"? ", wanted, name);
      }
    }
    return {};
  }

  /// Entries of 0.19: a file system with one of emptyDir, pvc.spec and pvc.ref.
  void secondary(const YAML::Node& node, const std::string& key, Json& list) {
    if (!node) return;
    if (!node.IsSequence()) fail(node, key, "expected a list of tiers");
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::string at = fmt::format("{}[{}].fileSystem", key, i);
      known_fields(node[i], fmt::format("{}[{}]", key, i), kSecondaryFields);
      const YAML::Node system = child(node[i], "fileSystem");
      known_fields(system, at, kSystemFields);
      if (!system || !system.IsMap()) fail(node[i], at, "expected emptyDir or pvc");
      const std::string path = fmt::format("/kv-cache-secondary-{}", i);  // the volume has the name
      call_.volumes[path] = storage(system, at);
      call_.volumes[path].from = fmt::format("{} ({})", at, call_.volumes[path].from);
      call_.origins[path] = at;
      list.push_back({{"type", "fs"}, {"root_dir", path}});
    }
  }

  Volume storage(const YAML::Node& system, const std::string& key) {
    const YAML::Node pvc = system["pvc"];
    known_fields(system["emptyDir"], key + ".emptyDir", kEmptyDirFields);
    known_fields(pvc, key + ".pvc", kPvcFields);
    if (static_cast<bool>(system["emptyDir"]) == static_cast<bool>(pvc)) {
      fail(system, key, "expected either emptyDir or pvc");
    }
    if (!pvc) {
      const YAML::Node size = child(system["emptyDir"], "size");
      return {quantity_at(size, file(), key + ".emptyDir.size"), false, "emptyDir"};
    }
    const YAML::Node own = child(pvc, "spec");
    const YAML::Node ref = child(pvc, "ref");
    if (static_cast<bool>(own) == static_cast<bool>(ref)) {
      fail(pvc, key + ".pvc", "expected either spec or ref");
    }
    if (ref) {
      known_fields(ref, key + ".pvc.ref", kRefFields);
      if (scalar(child(ref, "name")).empty()) fail(ref, key + ".pvc.ref.name", "expected a name");
      return {std::nullopt, true, "PVC " + scalar(child(ref, "name"))};
    }
    const YAML::Node size = child(child(child(own, "resources"), "requests"), "storage");
    return {quantity_at(size, file(), key + ".pvc.spec.resources.requests.storage"), false,
            "PVC of each pod"};
  }

  /// Entries of later releases: a path that the pod mounts itself.
  void file_systems(const YAML::Node& node, const std::string& key, Json& list) {
    if (!node) return;
    if (!node.IsSequence()) fail(node, key, "expected a list of tiers");
    for (const YAML::Node& one : node) {
      known_fields(one, key + "[]", kPathFields);
      const std::string path = scalar(child(one, "path"));
      if (path.empty()) fail(one, key + ".path", "expected the path of a mounted volume");
      Json tier = {{"type", "fs"}, {"root_dir", path}};
      for (const auto& [from, to] : {std::pair{"readThreads", "n_read_threads"},
                                     std::pair{"writeThreads", "n_write_threads"}}) {
        if (const auto count = whole_at(child(one, from), file(), key + "." + from)) {
          tier[to] = *count;
        }
      }
      list.push_back(std::move(tier));
    }
  }
  static void object_stores(const YAML::Node& node, Json& list) {
    if (!node || !node.IsSequence()) return;
    for (std::size_t i = 0; i < node.size(); ++i) list.push_back({{"type", "obj"}});
  }

  YAML::Node spec_;
  EngineCall call_;
  EngineCalls& out_;
};

}  // namespace

bool is_llm_inference_service(const YAML::Node& node) {
  return scalar(node["kind"]) == "LLMInferenceService";
}

void read_llm_inference_service(const YAML::Node& node, const EngineCall& around,
                                EngineCalls& out) {
  ServiceReader(node, around, out).read();
}

bool is_predictor(const YAML::Node& node) {
  const YAML::Node model = node["model"];
  return model && model.IsMap() && model["modelFormat"] && !model["args"] &&
         scalar(child(model["modelFormat"], "name")) == "huggingface";
}

/// spec.predictor without arguments of its own; the Hugging Face runtime serves with vLLM.
void read_predictor(const YAML::Node& node, const EngineCall& outer, EngineCalls& out) {
  EngineCall around = outer;
  around.where.line = node["model"].Mark().line + 1;
  take_surroundings(node["model"], around);
  around.words.push_back({scalar(node["model"]["storageUri"])});
  const YAML::Node workers = node["workerSpec"];
  for (const char* key : {"tensorParallelSize", "pipelineParallelSize"}) {
    const auto size = whole_at(child(workers, key), around.where.file, key);
    if (!size) continue;
    around.words.push_back({flag_of_key(key)});
    around.words.push_back({std::to_string(*size)});
  }
  out.calls.push_back(std::move(around));
}

}  // namespace spillway
