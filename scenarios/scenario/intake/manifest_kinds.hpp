// Deployments that say more than containers with commands: charts' values and custom resources. One
// row each; the reader of manifests (manifest.cpp) finds them by it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scenarios/scenario/intake/engine_call.hpp"
#include "scenarios/scenario/intake/yaml_nodes.hpp"

namespace spillway {

struct ManifestKind {
  std::string_view name;  ///< "KServe LLMInferenceService"
  /// Whether a mapping is of this kind, by its keys.
  bool (*is)(const YAML::Node& node);
  /// What it says of all that is below it; nullptr: nothing.
  void (*surround)(const YAML::Node& node, EngineCall& around);
  /// The engines that it starts. Nothing below is looked at then. nullptr: its containers do.
  void (*read)(const YAML::Node& node, const EngineCall& around, EngineCalls& out);
};

std::span<const ManifestKind> manifest_kinds();

// ---- what any of them may hold (manifest.cpp)

/// What a mapping says of everything below it: name, replicas, GPUs, volumes.
void take_surroundings(const YAML::Node& map, EngineCall& around);
/// Image, release, variables and mounted volumes of a container.
void take_container(const YAML::Node& container, EngineCall& around);
/// A word of a list needs no shell: Kubernetes itself replaces $(NAME).
ShellWord resolved_word(const std::string& word, const EngineCall& around);
/// {key: nvidia.com/gpu.product, operator: In, values: [...]}, however deep.
void take_affinity(const YAML::Node& node, EngineCall& around);
/// "hf://Qwen/Qwen3-8B" is Qwen/Qwen3-8B; others are paths.
std::string model_of_uri(const std::string& uri);

// ---- of each kind, in a file of its own

bool is_production_stack(const YAML::Node& node);
void surround_production_stack(const YAML::Node& node, EngineCall& around);
bool is_model_spec(const YAML::Node& node);
void read_model_spec(const YAML::Node& node, const EngineCall& around, EngineCalls& out);

bool is_llm_inference_service(const YAML::Node& node);
void read_llm_inference_service(const YAML::Node& node, const EngineCall& around, EngineCalls& out);
bool is_predictor(const YAML::Node& node);
void read_predictor(const YAML::Node& node, const EngineCall& around, EngineCalls& out);

bool is_llmd_values(const YAML::Node& node);
void read_llmd_values(const YAML::Node& node, const EngineCall& around, EngineCalls& out);

bool is_dynamo_graph(const YAML::Node& node);
void surround_dynamo_graph(const YAML::Node& node, EngineCall& around);

}  // namespace spillway
