#include "scenarios/commands/tree/value_kinds.hpp"

#include <algorithm>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_spec.hpp"
#include "models/releases/presets.hpp"
#include "policies/catalogue.hpp"
#include "scenarios/scenario/config/key_schema.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"

namespace spillway {

std::vector<std::string> scenario_keys() {
  std::vector<std::string> out;
  for (const DottedKey& key : dotted_keys(ScenarioKeys::kTop)) {
    if (key.name == "name" || key.name == "description" || key.name == "$schema") continue;
    const std::string set = key.name + "=";
    out.push_back(set);
    const auto offer = [&](const auto& values) {
      for (const auto& value : values) out.push_back(set + std::string(value));
    };
    if (key.name.ends_with("eviction")) offer(policy_names());
    if (key.name == "engine.preset") offer(engine_names());
    offer(key.key->choices);
  }
  return out;
}

std::vector<std::string> key_choices(std::string_view key) {
  for (const DottedKey& row : dotted_keys(ScenarioKeys::kTop)) {
    if (row.name == key) return {row.key->choices.begin(), row.key->choices.end()};
  }
  return {};
}

std::vector<std::string> model_names() {
  std::vector<std::string> out = names_in<model_specs>();
  const std::size_t rows = out.size();
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string last = out[i].substr(out[i].rfind('/') + 1);
    for (const std::string& word : {last, last.substr(last.starts_with("Meta-") ? 5 : 0)}) {
      if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    }
  }
  return out;
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> out = names_in<gpu_specs>();
  std::erase_if(out, [](const std::string& name) { return name.find(' ') != std::string::npos; });
  return out;
}

std::vector<std::string> engine_names() {
  return names_in<engine_presets>();
}

std::vector<std::string> policy_names() {
  return names_in<eviction_policies>();
}

}  // namespace spillway
