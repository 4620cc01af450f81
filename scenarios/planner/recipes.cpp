#include "scenarios/planner/recipes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::string_view kOption = "--recipe";

constexpr PlanRecipe kRecipes[] = {
    {"size-dram-under-slo", "the least DRAM that meets the SLO",
     R"({"objective": "least-dram", "sizes": "auto"})"},
    {"compare-policies", "which eviction policy meets the SLO with the least DRAM",
     R"({"objective": "least-dram", "sizes": "auto",
         "search": {"tiers.0.eviction": ["lru", "arc", "s3fifo", "lfu"]}})"},
    {"max-rate-under-slo", "the most load that meets the SLO at the size that is there",
     R"({"objective": "most-load", "sizes": "capacity", "search": "speeds"})"},
    {"nvme-worth-it", "whether NVMe behind the DRAM lets the DRAM be smaller",
     R"({"objective": "least-dram", "sizes": "auto", "search": "tiers"})"},
    {"how-many-gpus", "the fewest replicas that meet the SLO at the size that is there",
     R"({"objective": "least-dram", "sizes": "capacity",
         "search": {"fleet.replicas": [1, 2, 3, 4, 6, 8]}})"},
    {"swap-space-for-peak", "the least swap space of a v0 engine that meets the SLO, also at peaks",
     R"({"tier": "cpu", "objective": "least-dram",
         "sizes": ["1GiB", "2GiB", "4GiB", "8GiB", "16GiB", "32GiB", "64GiB"],
         "demand": [{"name": "peak x1.5", "growth": {"rate": 1.5}},
                    {"name": "peak x2", "growth": {"rate": 2}}]})"},
};

[[noreturn]] void fail(const std::string& message) {
  throw InputError(Fault::kUsage, {std::string(kOption), 0, ""}, message);
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
    fail(fmt::format("{} asks for {}: expected a scenario with tiers", recipe.name,
                     recipe.question));
  }
  return tiers[0];
}

/// Arrivals that are clients of a closed loop know no speed, only how many they are.
json loads_of(const json& root) {
  const json& workload = at(root, {"workload"});
  if (at(workload, {"arrival"}) == "closed-loop") {
    return {{"workload.concurrency", {1, 2, 4, 8, 16, 32, 64, 128}}};
  }
  const json& given = at(workload, {"speed"});
  const double speed = given.is_number() ? given.get<double>() : 1;
  json speeds = json::array();
  for (const double factor : {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0}) {
    speeds.push_back(factor * speed);
  }
  return {{"workload.speed", speeds}};
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
    const json& capacity = at(first_tier(root, recipe), {"capacity"});
    return json::array({capacity.is_null() ? json("0GiB") : capacity});
  }
  if (value == "speeds") return loads_of(root);
  if (value == "tiers") return tiers_of(root, recipe);
  if (key == "tier" && !at(root, {"tiers"}).is_null()) {
    fail(fmt::format("{} asks for {}: expected engine.preset vllm@0.6 and no tiers", recipe.name,
                     recipe.question));
  }
  return value;
}

}  // namespace

std::span<const PlanRecipe> plan_recipes() {
  return kRecipes;
}

std::vector<std::string> apply_recipe(JsonSource& source, const std::string& name) {
  const PlanRecipe& recipe = find_recipe(name);
  const json root = source.root();
  std::vector<std::string> out;
  const json values = json::parse(recipe.plan);
  for (const auto& [key, value] : values.items()) {
    if (root.is_object() && !at(root, {"plan", key}).is_null()) continue;
    const std::string text = value_of(key, value, root, recipe).dump();
    source.set(fmt::format("plan.{}={}", key, text), kOption);
    out.push_back(fmt::format("recipe {}: plan.{} = {}", recipe.name, key, text));
  }
  if (out.empty()) {
    out.push_back(fmt::format("recipe {}: the scenario's plan says all of it", recipe.name));
  }
  return out;
}

}  // namespace spillway
