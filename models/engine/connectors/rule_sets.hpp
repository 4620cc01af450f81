// Connectors that are only rules: a row each. What a row says goes for every tier behind the first
// that does not say otherwise. Adding one: a row here.
#pragma once

#include <array>
#include <iterator>
#include <string_view>

#include "models/engine/connectors/level_rules.hpp"

namespace spillway {

struct RuleSet {
  std::string_view name;  ///< of engine.tier_rules
  LevelRules rules;
};

inline constexpr RuleSet kRuleSets[] = {
    // vLLM's TieringOffloadingSpec: all tiers get what host memory gets, and keep it.
    {"vllm", {}},
    // A block is on one level at a time: down as it is given up, up as it is wanted.
    {"spill", {.write = WriteRule::kOnEviction, .inclusion = Inclusion::kExclusive}},
};

constexpr std::array<std::string_view, std::size(kRuleSets)> rule_set_names() {
  std::array<std::string_view, std::size(kRuleSets)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kRuleSets[i].name;
  return out;
}

}  // namespace spillway
