#include "scenarios/planner/cells/search_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "scenarios/planner/cells/auto_sizes.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/flags/engine_policies.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/search_axis.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

/// Keys that change how much is asked of the system, all of them numbers.

/// What asks the question is no part of the answer.
constexpr std::string_view kNotSearched[] = {"plan", "sweep", "slo", "seed", "name", "description"};

SourceRef place(const SearchAxis& axis) {
  SourceRef out = axis.where;
  out.field = "plan.search." + axis.key;
  return out;
}

void check_axis(const Scenario& s, const SearchAxis& axis) {
  const std::string first = axis.key.substr(0, axis.key.find('.'));
  if (std::find(std::begin(kNotSearched), std::end(kNotSearched), first) !=
      std::end(kNotSearched)) {
    throw InputError(Fault::kUsage, place(axis),
                     fmt::format("{} cannot be searched: it says what is asked; expected a key of "
                                 "the system or its load, e.g. tiers.0.eviction",
                                 first));
  }
  const bool pool = s.engine.family == EngineFamily::kVllmV0 && axis.key == "engine.swap_space";
  if (axis.key == "tiers.0.capacity" || pool) {
    throw InputError(
        Fault::kUsage, place(axis),
        fmt::format("that is the size of {}; expected it in plan.sizes", s.plan->tier));
  }
}

void check_objective(const Scenario& s, const SourceRef& where) {
  const PlanChoice& plan = *s.plan;
  const bool costs =
      plan.objective == Objective::kLeastCost || plan.objective == Objective::kMostGoodputPerCost;
  if (costs && plan.prices.empty()) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("{} needs prices; expected plan.prices with the path of a prices "
                                 "file (scenarios/library/prices/list-2025.json is one to start "
                                 "from)",
                                 name_of(plan.objective)));
  }
  const auto loads = std::any_of(plan.search.begin(), plan.search.end(),
                                 [](const SearchAxis& axis) { return is_load_key(axis.key); });
  if (plan.objective == Objective::kMostLoad && !loads) {
    throw InputError(Fault::kUsage, where,
                     "most-load needs loads to choose from; expected one of these keys in "
                     "plan.search: workload.speed, workload.rate_per_s, workload.concurrency, "
                     "workload.growth.rate");
  }
}

[[noreturn]] void too_many(const SourceRef& where, std::size_t cells) {
  throw InputError(
      Fault::kUsage, where,
      fmt::format("these values and sizes combine to {} cells; expected at most {}: fewer values, "
                  "or `spillway sweep`",
                  cells, kMostCells));
}

void set_sizes(Scenario& s, const std::vector<std::string>& sizes) {
  PlanChoice& plan = *s.plan;
  SourceRef where = plan.where;
  where.field = "plan.sizes";
  for (const std::string& size : sizes) {
    const Capacity capacity = instance_capacity(s, *s.tier, parse_capacity(size, where));
    checked_tier_blocks(s, capacity, size, where);
    plan.sizes.push_back(size);
    plan.capacities.push_back(capacity);
  }
}

PlanCell cell_of(const Variant& variant, std::uint32_t number, std::size_t size) {
  PlanCell cell;
  cell.variant = number;
  cell.capacity = variant.scenario.plan->sizes[size];
  cell.name = variant.name.empty() ? cell.capacity : cell.capacity + ", " + variant.name;
  cell.scenario = variant.scenario;
  Scenario& s = cell.scenario;
  s.tier->capacity = s.plan->capacities[size];
  cell.unbounded = s.tier->capacity.kind == Capacity::Kind::kUnbounded;
  if (!cell.unbounded) {
    const auto blocks = static_cast<std::int64_t>(s.tier_blocks(s.tier->capacity));
    cell.capacity_bytes = blocks * s.tier_block_bytes().count();
  }
  return cell;
}

/// Sizes within one block of each other are one size; variants that agree in everything else are
/// one, too.
void check_different(const SearchSpace& space) {
  std::map<std::string, const PlanCell*> seen;
  for (const PlanCell& cell : space.cells) {
    const Scenario& s = cell.scenario;
    nlohmann::json configuration = configuration_identity(s);
    for (nlohmann::json& part : configuration) part.erase("plan");
    const std::string identity =
        configuration.dump() + s.workload->files() + fmt::format(" {}", s.fleet->replicas);
    const auto [twin, fresh] = seen.emplace(identity, &cell);
    if (fresh) continue;
    SourceRef where = s.plan->where;
    where.field = "plan.search";
    throw InputError(
        Fault::kUsage, where,
        fmt::format("{} and {} are the same configuration; expected values that differ",
                    twin->second->name, cell.name));
  }
}

/// Whether the objective has anything to choose between.
void check_choice(const std::vector<Variant>& variants, const SourceRef& objective) {
  const Scenario& first = variants.front().scenario;
  const bool alike = std::all_of(variants.begin(), variants.end(), [&](const Variant& variant) {
    return total_gpus(variant.scenario) == total_gpus(first);
  });
  if (first.plan->objective != Objective::kLeastGpus || !alike) return;
  throw InputError(Fault::kUsage, objective,
                   fmt::format("least-gpus needs numbers of GPUs to choose from, and every "
                               "combination has {}; expected one of these keys in plan.search: "
                               "fleet.replicas, engine.tensor_parallel_size",
                               total_gpus(first)));
}

/// Where sizes that were chosen end.
GridEnd end_of(const AutoSizes& sizes, const Scenario& s) {
  GridEnd out{"useful", "plan.sizes", sizes.sizes.back(), {}, false};
  const NoteFigures figures = {{"last", fmt::format("{} of {}", spaced(out.last), s.tier->name)}};
  out.note = plan_note("grid-reuse-ends", figures);
  if (!sizes.bounded) return out;
  out.code = "host";
  out.note = s.host ? plan_note("grid-at-host", figures) : plan_note("grid-at-usual-host", figures);
  return out;
}

/// A value as people name it: whole tiers by their names.
std::string value_label(const Variant& variant, std::size_t index) {
  const auto& [key, value] = variant.values[index];
  if (key != "tiers") return value;
  std::string out;
  if (variant.scenario.tier) out = variant.scenario.tier->name;
  for (const TierChoice& tier : variant.scenario.behind) out += " + " + tier.name;
  return out;
}

}  // namespace

std::string values_label(const Variant& variant, std::span<const std::string> keys) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    out.push_back(keys[k] + "=" + value_label(variant, k));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

void check_plan(const Scenario& scenario, std::optional<SourceRef> objective) {
  if (!scenario.plan) {
    throw InputError(Fault::kUsage, {scenario.path, 0, "plan"},
                     "missing; expected {\"sizes\": [\"0GiB\", \"64GiB\", ...]}, or {} for "
                     "defaults");
  }
  if (scenario.slo.empty()) {
    throw InputError(Fault::kUsage, {scenario.path, 0, "slo"},
                     "missing; expected at least one target, e.g. {\"metric\": \"p99_ttft_ms\", "
                     "\"max\": 2000}");
  }
  if (!objective) {
    objective = scenario.plan->where;
    objective->field = "plan.objective";
  }
  check_objective(scenario, *objective);
}

std::vector<Variant> plan_variants(const JsonSource& source) {
  Scenario base = load_scenario(source);
  const SourceRef objective = source.where("/plan/objective");
  check_plan(base, objective);
  std::vector<Varied> varied;
  std::size_t count = 1;
  for (const SearchAxis& axis : base.plan->search) {
    check_axis(base, axis);
    varied.push_back({axis.key, axis.values});
    count *= axis.values.size();
    if (count > kMostCells) too_many(place(axis), count);
  }
  std::vector<Variant> out(1);
  out.front().scenario = base;
  if (!varied.empty()) {
    out = make_variants(source, varied, {}, {base.path + ": plan.search", kMostCells}).variants;
  }
  std::vector<std::string> keys;
  for (const Varied& axis : varied) keys.push_back(axis.key);
  keys = short_keys(keys);
  for (Variant& variant : out) variant.name = values_label(variant, keys);
  check_choice(out, objective);
  return out;
}

SearchSpace make_search_space(std::vector<Variant> variants,
                              const std::function<const Workload&(const Scenario&)>& workload_of) {
  SearchSpace out;
  out.variants = std::move(variants);
  if (out.variants.front().scenario.plan->sizes.empty()) {
    // One grid for all, so that they can be compared: of the variant that can use most.
    AutoSizes most;
    for (const Variant& variant : out.variants) {
      AutoSizes sizes = auto_sizes(variant.scenario, workload_of(variant.scenario));
      if (sizes.useful_bytes > most.useful_bytes || most.sizes.empty()) most = std::move(sizes);
    }
    for (Variant& variant : out.variants) set_sizes(variant.scenario, most.sizes);
    out.notes.push_back(std::move(most.method));
    out.ends.push_back(end_of(most, out.variants.front().scenario));
  }
  for (std::uint32_t v = 0; v < out.variants.size(); ++v) {
    const Variant& variant = out.variants[v];
    check_plan_on_host(variant.scenario);
    out.lines.emplace_back();
    for (std::size_t i = 0; i < variant.scenario.plan->sizes.size(); ++i) {
      out.lines.back().push_back(static_cast<std::uint32_t>(out.cells.size()));
      out.cells.push_back(cell_of(variant, v, i));
    }
    if (out.cells.size() > kMostCells) {
      too_many(variant.scenario.plan->where,
               out.variants.size() * variant.scenario.plan->sizes.size());
    }
  }
  check_different(out);
  mark_engine_lacks(out);
  const PlanChoice& plan = *out.variants.front().scenario.plan;
  const bool loads = std::any_of(plan.search.begin(), plan.search.end(),
                                 [](const SearchAxis& axis) { return is_load_key(axis.key); });
  if (loads && plan.objective == Objective::kLeastDram) {
    out.notes.push_back(plan_note("load-searched"));
  }
  return out;
}

void mark_engine_lacks(SearchSpace& space) {
  bool any = false;
  for (PlanCell& cell : space.cells) {
    cell.engine_lacks = engine_lacks(cell.scenario);
    cell.candidate = cell.engine_lacks.empty();
    any = any || cell.candidate;
  }
  if (any) return;
  for (PlanCell& cell : space.cells) cell.candidate = true;
}

std::int64_t instances_of(const Scenario& s) {
  return std::max<std::int64_t>(1, s.engine.data_parallel) * s.fleet->replicas;
}

std::int64_t total_bytes(const PlanCell& cell) {
  if (cell.unbounded) return std::numeric_limits<std::int64_t>::max();
  return cell.capacity_bytes * instances_of(cell.scenario);
}

std::uint32_t total_gpus(const Scenario& s) {
  return s.world() * static_cast<std::uint32_t>(instances_of(s));
}

std::vector<double> loads_of(const SearchSpace& space) {
  std::vector<double> out;
  for (const PlanCell& cell : space.cells) {
    double load = 1;
    for (const auto& [key, value] : space.variants[cell.variant].values) {
      if (is_load_key(key)) load *= std::strtod(value.c_str(), nullptr);
    }
    out.push_back(load);
  }
  return out;
}

std::vector<double> gpu_scores(const SearchSpace& space) {
  std::vector<double> out;
  for (const PlanCell& cell : space.cells) out.push_back(-1.0 * total_gpus(cell.scenario));
  return out;
}

std::vector<std::uint32_t> preference_of(const SearchSpace& space,
                                         const std::vector<double>& score) {
  std::vector<std::uint32_t> out(space.cells.size());
  std::iota(out.begin(), out.end(), 0U);
  std::stable_sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (!score.empty() && score[a] != score[b]) return score[a] > score[b];
    const PlanCell& x = space.cells[a];
    const PlanCell& y = space.cells[b];
    if (total_bytes(x) != total_bytes(y)) return total_bytes(x) < total_bytes(y);
    return total_gpus(x.scenario) < total_gpus(y.scenario);
  });
  return out;
}

}  // namespace spillway
