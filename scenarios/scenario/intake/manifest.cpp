// Kubernetes manifests, Helm values and compose files: wherever a container starts an engine.
// Custom resources and charts that say more are rows of manifest_kinds().
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/manifest_kinds.hpp"
#include "scenarios/scenario/intake/vllm_flags.hpp"

namespace spillway {

namespace {

void take_gpus(const YAML::Node& amounts, EngineCall& around) {
  constexpr std::string_view kMig = "nvidia.com/mig-";
  for (const auto& entry : amounts) {
    const std::string key = scalar(entry.first);
    if (key == "memory") around.memory = scalar(entry.second);
    if (key == "nvidia.com/gpu" || key == "nvidia.com/gpu " || key == "amd.com/gpu" ||
        key == "gpu") {
      around.gpus = whole(entry.second);
    }
    if (key.starts_with(kMig)) around.mig = key.substr(kMig.size());
  }
}

/// Of a pod: what bounds them, and whether other pods see them too. `claims` of the same text.
void take_volumes(const YAML::Node& list, EngineCall& around) {
  if (!list || !list.IsSequence()) return;
  for (const YAML::Node& one : list) {
    if (!one.IsMap()) continue;
    const std::string name = scalar(one["name"]);
    if (const YAML::Node dir = one["emptyDir"]) {
      around.pod_volumes[name] = {quantity_bytes(scalar(child(dir, "sizeLimit"))), false,
                                  "emptyDir " + name};
    } else if (const YAML::Node claim = one["persistentVolumeClaim"]) {
      const std::string claimed = scalar(child(claim, "claimName"));
      const auto known = around.pod_volumes.find("PVC " + claimed);
      Volume volume = known == around.pod_volumes.end() ? Volume{} : known->second;
      volume.shared = known == around.pod_volumes.end() || volume.shared;
      volume.from = "PVC " + claimed;
      around.pod_volumes[name] = volume;
    } else if (one["ephemeral"]) {
      const YAML::Node spec = child(child(one["ephemeral"], "volumeClaimTemplate"), "spec");
      const YAML::Node size = child(child(child(spec, "resources"), "requests"), "storage");
      around.pod_volumes[name] = {quantity_bytes(scalar(size)), false, "ephemeral PVC " + name};
    }
  }
}

}  // namespace

const Volume* volume_of(const EngineCall& call, std::string_view path) {
  const Volume* best = nullptr;
  std::size_t longest = 0;
  for (const auto& [mounted, volume] : call.volumes) {
    std::string_view at = mounted;
    while (at.ends_with('/')) at.remove_suffix(1);
    const bool holds =
        path == at || (path.starts_with(at) && path.size() > at.size() && path[at.size()] == '/');
    if (!holds || at.size() < longest) continue;
    best = &volume;
    longest = at.size();
  }
  return best;
}

std::string model_of_uri(const std::string& uri) {
  return uri.starts_with("hf://") ? uri.substr(5) : uri;
}

void take_affinity(const YAML::Node& node, EngineCall& around) {
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

void take_surroundings(const YAML::Node& map, EngineCall& around) {
  const std::string kind = scalar(map["kind"]);
  if (!kind.empty()) {
    const std::string name = scalar(child(map["metadata"], "name"));
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
    const YAML::Node amounts = child(resources, part);
    if (amounts && amounts.IsMap()) take_gpus(amounts, around);
  }
  if (const auto count = whole(map["requestGPU"])) around.gpus = count;
  if (map["affinity"]) take_affinity(map["affinity"], around);
  take_volumes(map["volumes"], around);
}

void take_container(const YAML::Node& node, EngineCall& around) {
  std::string image = scalar(node["image"]);
  if (node["repository"]) {
    image = fmt::format("{}:{}", scalar(node["repository"]), scalar(node["tag"]));
  }
  around.image = image;
  if (std::string release = release_of_image(image); !release.empty()) {
    around.version = std::move(release);
    around.version_from = "image " + image;
  }
  for (const auto& entry : node) {  // a key that stands twice counts twice
    const std::string key = scalar(entry.first);
    if (key != "env" && key != "environment") continue;
    around.environment = environment_of(entry.second, std::move(around.environment));
  }
  const YAML::Node mounts = node["volumeMounts"];
  if (!mounts || !mounts.IsSequence()) return;
  for (const YAML::Node& mount : mounts) {
    const auto volume = around.pod_volumes.find(scalar(child(mount, "name")));
    if (volume == around.pod_volumes.end()) continue;
    around.volumes[scalar(child(mount, "mountPath"))] = volume->second;
  }
}

ShellWord resolved_word(const std::string& word, const EngineCall& around) {
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
      if (word.find(' ') == std::string::npos) {
        out.open.push_back(word.substr(from, to - from + 1));
      }
    }
    at = to + 1;
  }
  out.text += word.substr(std::min(at, word.size()));
  return out;
}

namespace {

class ManifestReader {
 public:
  explicit ManifestReader(std::string name) { around_.where = {std::move(name), 0, ""}; }

  EngineCalls read(const std::string& text) {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      for (const YAML::Node& document : documents) take_files(document);
      for (const YAML::Node& document : documents) visit(document, around_);
    } catch (const YAML::Exception& e) {
      const bool helm = text.find("{{") != std::string::npos;
      throw InputError(
          Fault::kUsage, {around_.where.file, e.mark.line + 1, ""},
          fmt::format("not YAML: {}{}", e.msg,
                      helm ? "; it holds {{ }} of a template: expected the output of `helm "
                             "template`, or the values"
                           : ""));
    }
    if (out_.calls.empty() && out_.stores.empty()) nothing();
    return std::move(out_);
  }

 private:
  [[noreturn]] void nothing() const {
    std::string seen;
    for (const std::string& name : others_) seen += (seen.empty() ? "" : ", ") + name;
    const std::string engine =
        out_.notes.empty() ? std::string("no container here starts vLLM, SGLang or TensorRT-LLM")
                           : fmt::format("starts {}, which is not modelled", out_.notes.front());
    throw InputError(
        Fault::kUsage, around_.where,
        fmt::format("{}{}; expected command or args with \"vllm serve\", or an image of vLLM",
                    engine, seen.empty() ? "" : fmt::format(" (containers seen: {})", seen)));
  }

  /// Of a ConfigMap, by the names that they have in the folder it is mounted to. Of a claim, its
  /// size.
  void take_files(const YAML::Node& document) {
    if (!document.IsMap()) return;
    const std::string kind = scalar(document["kind"]);
    if (kind == "PersistentVolumeClaim") return claim(document);
    const YAML::Node data = document["data"];
    if (kind != "ConfigMap" || !data || !data.IsMap()) return;
    for (const auto& entry : data) around_.files[scalar(entry.first)] = scalar(entry.second);
  }

  void claim(const YAML::Node& document) {
    const std::string name = scalar(child(document["metadata"], "name"));
    const YAML::Node spec = document["spec"];
    const YAML::Node size = child(child(child(spec, "resources"), "requests"), "storage");
    bool shared = false;
    for (const std::string& mode : texts(child(spec, "accessModes"))) {
      shared |= mode == "ReadWriteMany";
    }
    around_.pod_volumes["PVC " + name] = {quantity_bytes(scalar(size)), shared, "PVC " + name};
  }

  void visit(const YAML::Node& node, const EngineCall& outer) {
    if (!node) return;
    if (node.IsSequence()) {
      for (const YAML::Node& item : node) visit(item, outer);
      return;
    }
    if (!node.IsMap()) return;
    EngineCall around = outer;
    take_surroundings(node, around);
    for (const ManifestKind& kind : manifest_kinds()) {
      if (!kind.is(node)) continue;
      if (kind.surround != nullptr) kind.surround(node, around);
      if (kind.read != nullptr) return kind.read(node, around, out_);
    }
    if (node["command"] || node["args"] || (node["image"] && node["image"].IsScalar())) {
      container(node, around);
    }
    for (const auto& entry : node) visit(entry.second, around);
  }

  void container(const YAML::Node& node, EngineCall around) {
    const std::string name = scalar(node["name"]);
    if (!name.empty()) {
      around.place += fmt::format("{}container {}", around.place.empty() ? "" : ", ", name);
    }
    around.where.line = node.Mark().line + 1;
    take_container(node, around);
    const std::string image = around.image;
    std::vector<std::string> words = texts(node["command"]);
    const bool own_command = !words.empty() || !scalar(node["command"]).empty();
    const std::vector<std::string> more = texts(node["args"]);
    words.insert(words.end(), more.begin(), more.end());
    const std::size_t before = out_.calls.size();
    const std::size_t noted = out_.notes.size() + out_.stores.size();
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
    for (const std::string& word : words) command.words.push_back(resolved_word(word, around));
    if (out_.calls.size() == before && out_.notes.size() + out_.stores.size() == noted) {
      find_calls({command}, around, out_);
    }
    if (out_.calls.size() != before || out_.notes.size() + out_.stores.size() != noted) return;
    if (!own_command && starts_by_itself(command, image)) {
      start_by_arguments(command, around, out_);
    } else if (!name.empty()) {
      others_.push_back(name);
    }
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

  EngineCall around_;
  EngineCalls out_;
  std::vector<std::string> others_;
};

}  // namespace

EngineCalls calls_in_manifest(std::string_view text, const std::string& name) {
  return ManifestReader(name).read(std::string(text));
}

}  // namespace spillway
