// Settings without a command: LMCache's YAML or variables, variables and files of KVBM, AIBrix,
// FlexKV and Mooncake Store, vLLM's --config, TensorRT-LLM's options. Alone they make a scenario
// whose model is assumed; beside a command they are the file that it names.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>

#include "scenarios/scenario/intake/flexkv_settings.hpp"
#include "scenarios/scenario/intake/input_kinds.hpp"
#include "scenarios/scenario/intake/mooncake_client.hpp"
#include "scenarios/scenario/intake/mooncake_master.hpp"
#include "scenarios/scenario/intake/store_variables.hpp"
#include "scenarios/scenario/intake/vllm_flags.hpp"
#include "scenarios/scenario/intake/yaml_nodes.hpp"

namespace spillway {

namespace {

constexpr std::string_view kLmcache =
    R"({"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"})";
constexpr std::string_view kKvbm = R"({"kv_connector": "DynamoConnector", "kv_role": "kv_both"})";
constexpr std::string_view kAibrix =
    R"({"kv_connector": "AIBrixOffloadingConnectorV1Type1", "kv_role": "kv_both"})";
constexpr std::string_view kFlexkv =
    R"({"kv_connector": "FlexKVConnectorV1", "kv_role": "kv_both"})";
constexpr std::string_view kKvbmV2 =
    R"({"kv_connector": "DynamoConnector", "kv_connector_module_path": "kvbm.v2.vllm.connector",)"
    R"( "kv_role": "kv_both"})";

constexpr std::string_view kMooncakeStore =
    R"({"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"})";

bool any_key(const YAML::Node& root, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return root[name].IsDefined(); });
}

bool is_lmcache(const YAML::Node& root) {
  return any_key(root, {"chunk_size", "local_cpu", "max_local_cpu_size", "local_disk",
                        "max_local_disk_size", "remote_url"});
}

bool is_trtllm(const YAML::Node& root) {
  return any_key(root, {"kv_cache_config", "cuda_graph_config", "scheduler_config",
                        "max_batch_size", "max_num_tokens", "max_seq_len"});
}

bool some_key(const YAML::Node& root, bool (*is)(std::string_view key)) {
  return std::any_of(root.begin(), root.end(),
                     [&](const auto& entry) { return is(scalar(entry.first)); });
}

bool is_flexkv(const YAML::Node& root) {
  return some_key(root, is_flexkv_key);
}

bool is_mooncake_client(const YAML::Node& root) {
  return some_key(root, is_mooncake_client_key);
}

/// SGLang's client knows no mode.
bool is_mooncake_of_vllm(const YAML::Node& root) {
  return any_key(root, {"mode"}) && is_mooncake_client(root);
}

/// Every key is a flag of vLLM, and one of them is written as one.
bool is_vllm(const YAML::Node& root) {
  bool written = false;
  for (const auto& entry : root) {
    const std::string key = scalar(entry.first);
    if (find_vllm_flag(flag_of_key(key)) == nullptr) return false;
    written |= key.find('-') != std::string::npos || key == "model";
  }
  return written;
}

/// One kind of such a file.
struct SettingsKind {
  bool (*is)(const YAML::Node& root);
  std::string_view engine;
  std::string_view flag;      ///< that names the file, or that it goes with
  std::string_view value;     ///< empty: the file
  std::string_view variable;  ///< that names the file
};
constexpr SettingsKind kKinds[] = {
    {is_flexkv, "vllm", "--kv-transfer-config", kFlexkv, "FLEXKV_CONFIG_PATH"},
    {is_mooncake_of_vllm, "vllm", "--kv-transfer-config", kMooncakeStore, "MOONCAKE_CONFIG_PATH"},
    {is_mooncake_client, "sglang", "--hicache-storage-backend", "mooncake",
     "SGLANG_HICACHE_MOONCAKE_CONFIG_PATH"},
    {is_lmcache, "vllm", "--kv-transfer-config", kLmcache, "LMCACHE_CONFIG_FILE"},
    {is_trtllm, "trtllm", "--extra_llm_api_options", "", ""},
    {is_vllm, "vllm", "--config", "", ""},
};

/// A flat YAML mapping, or nothing.
std::optional<YAML::Node> mapping(std::string_view text) {
  try {
    YAML::Node root = YAML::Load(std::string(text));
    if (root.IsMap() && root.size() > 0 && !root["apiVersion"] && !root["kind"]) return root;
  } catch (const YAML::Exception&) {  // whoever reads it in full tells the line
  }
  return std::nullopt;
}

const SettingsKind* kind_of(const YAML::Node& root) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const SettingsKind& kind) { return kind.is(root); });
  return found == std::end(kKinds) ? nullptr : found;
}

/// Lines of NAME=value alone, with or without export; nothing where any other is.
std::optional<ShellVariables> variables_alone(std::string_view text) {
  ShellVariables out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("export ")) line.remove_prefix(7);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const std::string_view name = line.substr(0, equals);
    if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
        std::string_view::npos) {
      return std::nullopt;
    }
    const ShellText read = read_shell("X " + std::string(line.substr(equals + 1)), {});
    if (read.commands.size() != 1 || read.commands.front().words.size() > 2) return std::nullopt;
    const auto& words = read.commands.front().words;
    out[std::string(name)] = words.size() == 2 ? words[1].text : "";
  }
  return out;
}

bool any_starts(const ShellVariables& variables, std::string_view prefix) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const auto& one) { return one.first.starts_with(prefix); });
}

/// The engine that reads variables, with the flags that it needs for them.
void start_store(EngineCall& call) {
  struct Row {
    std::string_view prefix;
    std::string_view connector;
  };
  constexpr Row kRows[] = {{"KVBM_", kKvbmV2},  // which reads those of v1, too
                           {"DYN_KVBM_", kKvbm},
                           {"AIBRIX_KV_CACHE_OL_", kAibrix},
                           {"FLEXKV_", kFlexkv},
                           {"LMCACHE_", kLmcache}};
  for (const Row& row : kRows) {
    if (!any_starts(call.environment, row.prefix)) continue;
    call.words = {{"--kv-transfer-config"}, {std::string(row.connector)}};
    return;
  }
  call.engine = "sglang";
  call.words = {{"--enable-hierarchical-cache"}, {"--hicache-storage-backend"}, {"mooncake"}};
}

}  // namespace

bool is_settings(std::string_view text) {
  if (const auto variables = variables_alone(text)) {
    return any_starts(*variables, "LMCACHE_") || any_store_variable(*variables);
  }
  const auto root = mapping(text);
  return root && (some_key(*root, is_mooncake_master_key) || kind_of(*root) != nullptr);
}

EngineCalls calls_in_settings(std::string_view text, const std::string& name) {
  EngineCalls out;
  EngineCall& call = out.calls.emplace_back();
  call.where = {name, 0, ""};
  call.place = "settings";
  call.settings = name;
  if (const auto variables = variables_alone(text)) {
    call.environment = *variables;
    start_store(call);
    return out;
  }
  const auto root = mapping(text);
  if (some_key(*root, is_mooncake_master_key)) {
    call.engine = kMooncakeMaster;
    call.files[name] = std::string(text);
    call.words = {{"--config_path=" + name}};
    out.stores = std::move(out.calls);
    out.calls.clear();
    return out;
  }
  const SettingsKind& kind = *kind_of(*root);
  call.engine = kind.engine;
  if (call.engine == "sglang") call.words = {{"--enable-hierarchical-cache"}};
  call.files[name] = std::string(text);
  call.words.push_back({std::string(kind.flag)});
  call.words.push_back({kind.value.empty() ? name : std::string(kind.value)});
  if (!kind.variable.empty()) call.environment[std::string(kind.variable)] = name;
  return out;
}

}  // namespace spillway
