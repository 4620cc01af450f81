// What a level of a hierarchy does, as values: a connector that is only rules is a row of these.
//
// Levels are counted from HBM down. The first one below it, host memory, is written by its
// connector; the rules of each level behind it say when blocks come, whether they are elsewhere
// too, and when they leave.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "models/tier/inclusion.hpp"
#include "sim/units.hpp"

namespace spillway {

/// When a block is written to a level.
enum class WriteRule : std::uint8_t {
  kThrough,     ///< as it arrives in host memory (vllm/v1/kv_offload/tiering/manager.py)
  kOnEviction,  ///< as the level before it gives it up
};
inline constexpr std::string_view kWriteRules[] = {"through", "on-eviction"};

/// What becomes of a write that finds no room.
enum class FullRule : std::uint8_t {
  kWait,  ///< its source stays pinned until there is room
  kDrop,
};
inline constexpr std::string_view kFullRules[] = {"wait", "drop"};

/// Blocks leave when others need their room; beyond that:
struct TrimRule {
  double above = 1;          ///< share of the capacity: more is trimmed
  double to = 1;             ///< the share that is left then
  Duration period{0};        ///< at multiples of it; 0: as each write ends
  Duration time_to_live{0};  ///< unused for so long, a block leaves; 0: for ever
};

struct LevelRules {
  WriteRule write = WriteRule::kThrough;
  Inclusion inclusion = Inclusion::kInclusive;
  FullRule full = FullRule::kWait;
  TrimRule trim{};
  /// Chunks that requests which wait for admission may have on their way up from here; 0: none
  /// before the scheduler comes to them.
  std::uint32_t prefetch = 0;
};

/// A connector that is only rules: what its row says goes for every tier behind the first that does
/// not say otherwise. Adding one: a row here.
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
