#include "scenarios/planner/cells/recipes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "reports/notes/study_notes.hpp"
#include "reports/plan/cells.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr PlanRecipe kRecipes[] = {
    {"size-dram-under-slo", "the least DRAM that meets the SLO",
     R"({"objective": "least-dram", "sizes": "auto"})"},
    {"compare-policies", "which eviction policy meets the SLO with the least DRAM",
     R"({"objective": "least-dram", "sizes": "auto",
         "search": {"tiers.0.eviction": ["lru", "arc", "s3fifo", "lfu"]}})"},
    {"max-rate-under-slo", "the most load that meets the SLO at the size that is there",
     R"({"objective": "most-load", "sizes": "capacity", "search": "loads"})"},
    {"nvme-worth-it", "whether NVMe behind the DRAM lets the DRAM be smaller",
     R"({"objective": "least-dram", "sizes": "auto", "search": "tiers"})"},
    {"how-many-gpus", "the fewest replicas that meet the SLO at the size that is there",
     R"({"objective": "least-gpus", "sizes": "capacity", "search": "replicas"})"},
    {"swap-space-for-peak", "the least swap space of a v0 engine that meets the SLO, also at peaks",
     R"({"tier": "cpu", "objective": "least-dram",
         "sizes": ["1GiB", "2GiB", "4GiB", "8GiB", "16GiB", "32GiB", "64GiB"],
         "demand": [{"name": "peak x1.5", "growth": {"rate": 1.5}},
                    {"name": "peak x2", "growth": {"rate": 2}}]})"},
};

[[noreturn]] void fail(const std::string& message) {
  throw InputError(Fault::kUsage, {std::string(kRecipeOption), 0, ""}, message);
}

const PlanRecipe& find_recipe(const std::string& name) {
  std::vector<std::string_view> names;
  for (const PlanRecipe& recipe : kRecipes) {
    if (recipe.name == name) return recipe;
    names.push_back(recipe.name);
  }
  fail(unknown_name("recipe", name, names));
}

/// The value at a dotted way, or null.
const json& at(const json& root, std::initializer_list<std::string_view> way) {
  static const json kNone;
  const json* here = &root;
  for (const std::string_view key : way) {
    if (!here->is_object() || !here->contains(key)) return kNone;
    here = &(*here)[std::string(key)];
  }
  return *here;
}

const json& first_tier(const json& root, const PlanRecipe& recipe) {
  const json& tiers = at(root, {"tiers"});
  if (!tiers.is_array() || tiers.empty() || !tiers[0].is_object()) {
    fail(fmt::format("{} asks for {}: expected a scenario with tiers, or engine.swap_space",
                     recipe.name, recipe.question));
  }
  return tiers[0];
}

/// Of the load that is there: steps of 10 to 20% around it, wider ones further away.
constexpr double kLoadFactors[] = {0.25, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
                                   1.1,  1.25, 1.4, 1.6, 1.8, 2,   2.5, kMostLoadFactor};
constexpr std::int64_t kFewReplicas = 8;
constexpr std::int64_t kMostClients = 1 << 30;  // as the reader has it
constexpr std::int64_t kFewClients = 8;         // fewer are tried one by one

/// Arrivals that are clients of a closed loop know no speed, only how many they are.
json loads_of(const json& root) {
  const json& workload = at(root, {"workload"});
  json loads = json::array();
  if (at(workload, {"arrival"}) == "closed-loop") {
    const json& clients = at(workload, {"concurrency"});
    const std::int64_t given = clients.is_number_integer() ? clients.get<std::int64_t>() : 1;
    const auto base = static_cast<double>(std::clamp(given, kFewClients, kMostClients));
    loads.push_back(1);
    for (const double factor : kLoadFactors) {
      const auto load = static_cast<std::int64_t>(factor * base + 0.5);
      if (loads.back() < load) loads.push_back(load);
    }
    return {{"workload.concurrency", loads}};
  }
  const json& given = at(workload, {"speed"});
  const double speed = given.is_number() ? std::clamp(given.get<double>(), 1e-6, 1e6) : 1;
  for (const double factor : kLoadFactors) loads.push_back(short_number(factor * speed));
  return {{"workload.speed", loads}};
}

/// Every number up to sixteen, so that the smallest that does is not between two of them; beyond,
/// steps of an eighth.
json replicas_of(const json& root) {
  const json& given = at(root, {"fleet", "replicas"});
  const std::int64_t here = given.is_number_integer() ? given.get<std::int64_t>() : 1;
  const std::int64_t most = std::clamp(here, kFewReplicas, FleetChoice::kMostReplicas);
  json counts = json::array();
  for (std::int64_t n = 1; n <= most; n += std::max<std::int64_t>(1, n / 8)) counts.push_back(n);
  return {{"fleet.replicas", counts}};
}

/// The tiers without NVMe and with it: as the scenario has it, or a drive as published.
json tiers_of(const json& root, const PlanRecipe& recipe) {
  const json& first = first_tier(root, recipe);
  if (first.value("kind", "") != "dram") {
    fail(fmt::format("{} asks for {}: expected a scenario whose first tier is dram", recipe.name,
                     recipe.question));
  }
  json without = json::array();
  json with = root["tiers"];
  bool there = false;
  for (const json& tier : with) {
    const bool nvme = tier.is_object() && tier.value("kind", "") == "nvme";
    there = there || nvme;
    if (!nvme) without.push_back(tier);
  }
  if (!there) with.push_back({{"name", "nvme"}, {"kind", "nvme"}});
  return {{"tiers", {without, with}}};
}

json value_of(const std::string& key, const json& value, const json& root,
              const PlanRecipe& recipe) {
  if (value == "capacity") {
    const json& swap = at(root, {"engine", "swap_space"});  // the v0 engine's tier
    if (!swap.is_null()) return json::array({swap});
    const json& capacity = at(first_tier(root, recipe), {"capacity"});
    return json::array({capacity.is_null() ? json("0GiB") : capacity});
  }
  if (value == "loads") return loads_of(root);
  if (value == "replicas") return replicas_of(root);
  if (value == "tiers") return tiers_of(root, recipe);
  if (key == "tier" && !at(root, {"tiers"}).is_null()) {
    fail(fmt::format("{} asks for {}: expected engine.preset vllm@0.6 and no tiers", recipe.name,
                     recipe.question));
  }
  return value;
}

/// Whether a plan that says `own` still asks the recipe's question, which `value` of the recipe is
/// part of; `filled` is what it would be set to.
bool agrees(const std::string& key, const json& own, const json& value, const json& filled) {
  if (key == "objective" || key == "tier") return own == filled;
  if (key == "sizes") return value != "capacity" || (own.is_array() && own.size() == 1);
  if (key != "search" || !own.is_object()) return true;
  bool loads = false;
  for (const auto& axis : own.items()) loads = loads || is_load_key(axis.key());
  if (value == "loads") return loads;
  for (const auto& axis : filled.items()) {
    if (!own.contains(axis.key())) return false;
  }
  return true;
}

[[noreturn]] void contradicts(const JsonSource& source, const PlanRecipe& recipe,
                              const std::string& key, const json& own, const json& filled) {
  const SourceRef where = source.where("/plan/" + key);
  const bool option = where.file.starts_with("--") && where.file != "--set";
  const char* one = filled.is_array() ? "one size, or " : "";
  const std::string instead =
      option ? "no " + where.file
             : fmt::format("{0}plan.{1} left out (--set plan.{1}=null)", one, key);
  throw InputError(Fault::kUsage, where,
                   fmt::format("{} contradicts the recipe {} ({}), which asks with {}; expected "
                               "{}, or no --recipe",
                               own.dump(), recipe.name, recipe.question, filled.dump(), instead));
}

}  // namespace

json short_number(double value) {
  const double rounded = std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
  const auto whole = static_cast<std::int64_t>(rounded);
  return static_cast<double>(whole) == rounded ? json(whole) : json(rounded);
}

std::span<const PlanRecipe> plan_recipes() {
  return kRecipes;
}

Notes apply_recipe(JsonSource& source, const std::string& name) {
  const PlanRecipe& recipe = find_recipe(name);
  const json root = source.root();
  Notes out;
  const json values = json::parse(recipe.plan);
  for (const auto& [key, value] : values.items()) {
    const json filled = value_of(key, value, root, recipe);
    const json& own = root.is_object() ? at(root, {"plan", key}) : json();
    if (!own.is_null()) {
      if (!agrees(key, own, value, filled)) contradicts(source, recipe, key, own, filled);
      continue;
    }
    source.set(fmt::format("plan.{}={}", key, filled.dump()), kRecipeOption);
    out.push_back(study_note("recipe-sets",
                             {{"recipe", recipe.name}, {"key", key}, {"value", filled.dump()}}));
  }
  if (out.empty()) out.push_back(study_note("recipe-idle", {{"recipe", recipe.name}}));
  return out;
}

bool default_plan(JsonSource& source) {
  const json& root = source.root();
  if (!root.is_object() || !at(root, {"plan"}).is_null()) return false;
  source.set("plan={}", source.name());
  return true;
}

}  // namespace spillway
