// NVIDIA Dynamo's DynamoGraphDeployment. Its workers are containers like any other; its front end
// says how requests find them (ai-dynamo/dynamo, examples/backends/*/deploy/*.yaml and
// deploy/v1beta1, 2026; components/src/dynamo/frontend).
#include <fmt/format.h>

#include "scenarios/scenario/intake/manifest_kinds.hpp"

namespace spillway {

namespace {

/// DYN_ROUTER_MODE or --router-mode, in the variables or arguments of a front end.
std::string router_mode(const YAML::Node& node) {
  if (node.IsSequence()) {
    const std::vector<std::string> words = texts(node);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "--router-mode" && i + 1 < words.size()) return words[i + 1];
      if (words[i].starts_with("--router-mode=")) return words[i].substr(14);
    }
    for (const YAML::Node& item : node) {
      if (std::string found = router_mode(item); !found.empty()) return found;
    }
    return {};
  }
  if (!node.IsMap()) {
    const std::string text = scalar(node);
    const std::size_t at = text.find("--router-mode ");
    if (at == std::string::npos) return {};
    const std::string rest = text.substr(at + 14);
    return rest.substr(0, rest.find_first_of(" \n\\"));
  }
  if (scalar(node["name"]) == "DYN_ROUTER_MODE") return scalar(node["value"]);
  for (const auto& entry : node) {
    if (std::string found = router_mode(entry.second); !found.empty()) return found;
  }
  return {};
}

}  // namespace

bool is_dynamo_graph(const YAML::Node& node) {
  return scalar(node["kind"]) == "DynamoGraphDeployment";
}

void surround_dynamo_graph(const YAML::Node& node, EngineCall& around) {
  around.environment = environment_of(child(node["spec"], "envs"), around.environment);
  around.routing = router_mode(node);
  around.routing_from = "router mode " + around.routing;
}

}  // namespace spillway
