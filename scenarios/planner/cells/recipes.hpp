// Recipes of a plan: usual questions, each of which fills in what the scenario's plan leaves out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/json_source.hpp"
#include "sim/note.hpp"

namespace spillway {

/// What a recipe set says that it stands here (JsonSource::where).
inline constexpr std::string_view kRecipeOption = "--recipe";
/// The highest load that max-rate-under-slo begins with, of what the scenario has.
inline constexpr double kMostLoadFactor = 3;

struct PlanRecipe {
  std::string_view name;
  std::string_view question;
  /// An object like `plan`. The text "capacity" stands for the tier's own; "loads", "replicas" and
  /// "tiers" are put together from the scenario.
  std::string_view plan;
};

std::span<const PlanRecipe> plan_recipes();

/// Sets what `name` gives and `source` does not, and says so, one line a key. Throws InputError
/// (exit 2) for an unknown name, for a scenario that the recipe has nothing to ask of, and for one
/// whose plan asks something else.
Notes apply_recipe(JsonSource& source, const std::string& name);

/// As people write it: four digits, no ".0".
nlohmann::json short_number(double value);

/// Gives a scenario without a plan an empty one, so that every key has its default. Whether it had
/// none.
bool default_plan(JsonSource& source);

}  // namespace spillway
