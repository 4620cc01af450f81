// Kubernetes manifests, Helm values and compose files: wherever a container starts vLLM.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/vllm_flags.hpp"

namespace spillway {

namespace {

std::string scalar(const YAML::Node& node) {
  return node && node.IsScalar() ? node.Scalar() : std::string();
}

std::optional<std::int64_t> whole(const YAML::Node& node) {
  std::int64_t value = 0;
  if (node && node.IsScalar() && YAML::convert<std::int64_t>::decode(node, value) && value > 0) {
    return value;
  }
  return std::nullopt;
}

std::vector<std::string> texts(const YAML::Node& node) {
  std::vector<std::string> out;
  if (!node || !node.IsSequence()) return out;
  for (const YAML::Node& item : node) {
    if (item.IsScalar()) out.push_back(item.Scalar());
  }
  return out;
}

/// "enableChunkedPrefill" is the flag --enable-chunked-prefill.
std::string flag_of_key(std::string_view key) {
  std::string out = "--";
  for (const char c : key) {
    if (c >= 'A' && c <= 'Z') {
      out += '-';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c == '_' ? '-' : c;
    }
  }
  return out;
}

class ManifestReader {
 public:
  explicit ManifestReader(std::string name) { around_.where = {std::move(name), 0, ""}; }

  EngineCalls read(const std::string& text) {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      for (const YAML::Node& document : documents) take_files(document);
      for (const YAML::Node& document : documents) visit(document, around_, "");
    } catch (const YAML::Exception& e) {
      const bool helm = text.find("{{") != std::string::npos;
      throw InputError(
          Fault::kUsage, {around_.where.file, e.mark.line + 1, ""},
          fmt::format("not YAML: {}{}", e.msg,
                      helm ? "; it holds {{ }} of a template: expected the output of `helm "
                             "template`, or the values"
                           : ""));
    }
    if (out_.calls.empty()) nothing();
    return std::move(out_);
  }

 private:
  [[noreturn]] void nothing() const {
    std::string seen;
    for (const std::string& name : others_) seen += (seen.empty() ? "" : ", ") + name;
    const std::string engine =
        out_.notes.empty() ? std::string("no container here starts vLLM")
                           : fmt::format("starts {}, which is not modelled", out_.notes.front());
    throw InputError(
        Fault::kUsage, around_.where,
        fmt::format("{}{}; expected command or args with \"vllm serve\", or an image of vLLM",
                    engine, seen.empty() ? "" : fmt::format(" (containers seen: {})", seen)));
  }

  /// Of a ConfigMap, by the names that they have in the folder it is mounted to.
  void take_files(const YAML::Node& document) {
    if (!document.IsMap() || scalar(document["kind"]) != "ConfigMap") return;
    const YAML::Node data = document["data"];
    if (!data || !data.IsMap()) return;
    for (const auto& entry : data) around_.files[scalar(entry.first)] = scalar(entry.second);
  }

  /// What a mapping says of everything below it.
  void take_surroundings(const YAML::Node& map, EngineCall& around) {
    const std::string kind = scalar(map["kind"]);
    if (!kind.empty()) {
      const std::string name = map["metadata"] ? scalar(map["metadata"]["name"]) : "";
      around.place = name.empty() ? kind : fmt::format("{} {}", kind, name);
    }
    for (const char* key : {"replicas", "replicaCount", "minReplicas"}) {
      if (const auto count = whole(map[key])) around.replicas = count;
    }
    if (const YAML::Node selector = map["nodeSelector"]; selector && selector.IsMap()) {
      for (const char* key : {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
                              "gpu.nvidia.com/class", "accelerator"}) {
        if (std::string gpu = scalar(selector[key]); !gpu.empty()) around.gpu = std::move(gpu);
      }
    }
    const YAML::Node resources = map["resources"];
    for (const char* part : {"requests", "limits"}) {
      if (resources && resources.IsMap() && resources[part] && resources[part].IsMap()) {
        take_gpus(resources[part], around);
      }
    }
    if (const auto count = whole(map["requestGPU"])) around.gpus = count;
    if (map["affinity"]) take_affinity(map["affinity"], around);
  }

  /// nodeAffinity: {key: nvidia.com/gpu.product, operator: In, values: [...]}.
  static void take_affinity(const YAML::Node& node, EngineCall& around) {
    if (node.IsSequence()) {
      for (const YAML::Node& item : node) take_affinity(item, around);
    } else if (node.IsMap()) {
      const std::string key = scalar(node["key"]);
      const std::vector<std::string> values = texts(node["values"]);
      if ((key == "nvidia.com/gpu.product" || key == "cloud.google.com/gke-accelerator") &&
          scalar(node["operator"]) == "In" && !values.empty()) {
        around.gpu = values.front();
      }
      for (const auto& entry : node) take_affinity(entry.second, around);
    }
  }

  static void take_gpus(const YAML::Node& amounts, EngineCall& around) {
    constexpr std::string_view kMig = "nvidia.com/mig-";
    for (const auto& entry : amounts) {
      const std::string key = scalar(entry.first);
      if (key == "memory") around.memory = scalar(entry.second);
      if (key == "nvidia.com/gpu" || key == "nvidia.com/gpu " || key == "amd.com/gpu") {
        around.gpus = whole(entry.second);
      }
      if (key.starts_with(kMig)) around.mig = key.substr(kMig.size());
    }
  }

  static ShellVariables environment_of(const YAML::Node& env, ShellVariables out) {
    if (env && env.IsSequence()) {
      for (const YAML::Node& item : env) {
        if (!item.IsMap() || !item["name"]) {
          const std::string pair = scalar(item);  // compose: "NAME=value"
          const std::size_t equals = pair.find('=');
          if (equals != std::string::npos) out[pair.substr(0, equals)] = pair.substr(equals + 1);
        } else if (item["value"] && item["value"].IsScalar()) {
          out[item["name"].Scalar()] = item["value"].Scalar();
        }
      }
    } else if (env && env.IsMap()) {
      for (const auto& entry : env) out[scalar(entry.first)] = scalar(entry.second);
    }
    return out;
  }

  void visit(const YAML::Node& node, const EngineCall& outer, const std::string& key) {
    if (!node) return;
    if (node.IsSequence()) {
      for (const YAML::Node& item : node) visit(item, outer, key);
      return;
    }
    if (!node.IsMap()) return;
    EngineCall around = outer;
    take_surroundings(node, around);
    if (node["vllmConfig"]) {
      values_of_stack(node, around);
    } else if (node["command"] || node["args"] || (node["image"] && node["image"].IsScalar())) {
      container(node, around);
    } else if (scalar(node["kind"]) == "LLMInferenceService") {
      inference_service(node, around);
    } else if (node["model"] && node["model"].IsMap() && node["model"]["modelFormat"] &&
               !node["model"]["args"]) {
      predictor(node, around);
    }
    for (const auto& entry : node) visit(entry.second, around, scalar(entry.first));
  }

  void container(const YAML::Node& node, EngineCall around) {
    const std::string name = scalar(node["name"]);
    if (!name.empty()) {
      around.place += fmt::format("{}container {}", around.place.empty() ? "" : ", ", name);
    }
    around.where.line = node.Mark().line + 1;
    std::string image = scalar(node["image"]);
    if (node["repository"]) {
      image = fmt::format("{}:{}", scalar(node["repository"]), scalar(node["tag"]));
    }
    around.image = image;
    take_image(image, around);
    for (const auto& entry : node) {  // a key that stands twice counts twice
      const std::string key = scalar(entry.first);
      if (key != "env" && key != "environment") continue;
      around.environment = environment_of(entry.second, std::move(around.environment));
    }
    std::vector<std::string> words = texts(node["command"]);
    const bool own_command = !words.empty() || !scalar(node["command"]).empty();
    const std::vector<std::string> more = texts(node["args"]);
    words.insert(words.end(), more.begin(), more.end());
    const std::size_t before = out_.calls.size();
    const std::size_t noted = out_.notes.size();
    for (const char* text : {"command", "args"}) {  // a text instead of a list
      const std::string line = scalar(node[text]);
      if (!line.empty()) {
        const ShellText read = read_shell(line, around.environment, around.where.line);
        around.files.insert(read.files.begin(), read.files.end());
        find_calls(read.commands, around, out_);
        if (out_.calls.size() == before && !own_command) words.push_back(line);
      }
    }
    ShellCommand command;
    command.line = around.where.line;
    for (const std::string& word : words) command.words.push_back(resolved(word, around));
    if (out_.calls.size() == before) find_calls({command}, around, out_);
    if (out_.calls.size() != before || out_.notes.size() != noted) return;
    if (!own_command && starts_by_itself(command, image)) {
      start_by_arguments(command, around, out_);
    } else if (!name.empty()) {
      others_.push_back(name);
    }
  }

  static void take_image(const std::string& image, EngineCall& around) {
    std::string release = release_of_image(image);
    if (release.empty()) return;
    around.version = std::move(release);
    around.version_from = "image " + image;
  }

  /// A word of a list needs no shell: Kubernetes itself replaces $(NAME).
  static ShellWord resolved(const std::string& word, const EngineCall& around) {
    ShellWord out;
    std::size_t at = 0;
    while (at < word.size()) {
      const std::size_t from = word.find("$(", at);
      const std::size_t to = from == std::string::npos ? from : word.find(')', from);
      if (to == std::string::npos) break;
      out.text += word.substr(at, from - at);
      const std::string name = word.substr(from + 2, to - from - 2);
      const auto known = around.environment.find(name);
      if (known != around.environment.end()) {
        out.text += known->second;
      } else {
        out.text += word.substr(from, to - from + 1);
        // In a script the shell has its say later.
        if (word.find(' ') == std::string::npos)
          out.open.push_back(word.substr(from, to - from + 1));
      }
      at = to + 1;
    }
    out.text += word.substr(std::min(at, word.size()));
    return out;
  }

  /// Arguments of an image whose own command starts the server.
  static bool starts_by_itself(const ShellCommand& command, const std::string& image) {
    if (is_vllm_image(image)) return true;
    if (!image.empty()) return false;
    return std::any_of(command.words.begin(), command.words.end(), [](const ShellWord& word) {
      std::string flag = word.text.substr(0, word.text.find('='));
      std::replace(flag.begin(), flag.end(), '_', '-');
      return find_vllm_flag(flag) != nullptr;
    });
  }

  /// vllm-project/production-stack, helm/values.yaml: servingEngineSpec.modelSpec[].
  void values_of_stack(const YAML::Node& node, EngineCall around) {
    around.where.line = node.Mark().line + 1;
    const std::string name = scalar(node["name"]);
    around.place = name.empty() ? "modelSpec" : fmt::format("modelSpec {}", name);
    const std::string tag = scalar(node["tag"]);
    take_image(fmt::format("{}:{}", scalar(node["repository"]), tag), around);
    const auto add = [&](std::string text) { around.words.push_back({std::move(text)}); };
    if (const std::string model = scalar(node["modelURL"]); !model.empty()) add(model);
    for (const auto& entry : node["vllmConfig"]) {
      const std::string key = scalar(entry.first);
      if (key == "extraArgs") {
        for (const std::string& word : texts(entry.second)) add(word);
        continue;
      }
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
    const YAML::Node cache = node["lmcacheConfig"];
    if (cache && scalar(cache["enabled"]) == "true") {
      add("--kv-transfer-config");
      const std::string role = scalar(cache["kvRole"]);  // of disaggregated prefill
      add(fmt::format(R"({{"kv_connector": "LMCacheConnectorV1", "kv_role": "{}"}})",
                      role.empty() ? "kv_both" : role));
    }
    around.environment = environment_of(node["env"], {});
    if (cache && cache.IsMap()) {
      for (const auto& entry : cache) {
        const std::string key = scalar(entry.first);
        if (key != "enabled") around.environment["lmcacheConfig." + key] = scalar(entry.second);
      }
    }
    out_.calls.push_back(std::move(around));
  }

  /// kserve/kserve, InferenceService: spec.predictor without arguments of its own; the Hugging Face
  /// runtime serves with vLLM.
  void predictor(const YAML::Node& node, EngineCall around) {
    if (scalar(node["model"]["modelFormat"]["name"]) != "huggingface") return;
    around.where.line = node["model"].Mark().line + 1;
    around.words.push_back({scalar(node["model"]["storageUri"])});
    const YAML::Node workers = node["workerSpec"];
    for (const char* key : {"tensorParallelSize", "pipelineParallelSize"}) {
      if (!workers || !workers.IsMap() || scalar(workers[key]).empty()) continue;
      around.words.push_back({flag_of_key(key)});
      around.words.push_back({scalar(workers[key])});
    }
    out_.calls.push_back(std::move(around));
  }

  /// kserve/kserve, LLMInferenceService: spec.model and spec.workload.kvCacheOffloading.
  void inference_service(const YAML::Node& node, EngineCall around) {
    const YAML::Node spec = node["spec"];
    if (!spec || !spec.IsMap() || !spec["model"]) return;
    around.where.line = spec.Mark().line + 1;
    std::string model = scalar(spec["model"]["uri"]);
    if (model.starts_with("hf://")) model = model.substr(5);
    if (model.empty()) model = scalar(spec["model"]["name"]);
    around.words.push_back({model});
    const YAML::Node workload = spec["workload"];
    const YAML::Node offload =
        workload && workload.IsMap() ? workload["kvCacheOffloading"] : YAML::Node();
    std::string size = offload && offload.IsMap() ? scalar(offload["cpu"]) : "";
    if (size.ends_with("Gi")) {
      size.resize(size.size() - 2);
      for (const char* word : {"--kv-offloading-backend", "native", "--kv-offloading-size"}) {
        around.words.push_back({word});
      }
      around.words.push_back({size});
    }
    const YAML::Node secondary = offload && offload.IsMap() ? offload["secondary"] : YAML::Node();
    if (secondary && secondary.IsSequence()) {
      out_.notes.push_back(
          "kvCacheOffloading.secondary: left out; add a tier of kind fs behind dram");
    }
    const YAML::Node pod = spec["template"];
    if (pod && pod.IsMap()) take_surroundings(pod, around);
    if (pod && pod.IsMap() && pod["containers"] && pod["containers"].IsSequence()) {
      for (const YAML::Node& one : pod["containers"]) take_surroundings(one, around);
    }
    out_.calls.push_back(std::move(around));
  }

  EngineCall around_;
  EngineCalls out_;
  std::vector<std::string> others_;
};

}  // namespace

EngineCalls calls_in_manifest(const std::string& text, const std::string& name) {
  return ManifestReader(name).read(text);
}

}  // namespace spillway
