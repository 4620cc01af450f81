// What is asked of a scenario's runs: the SLO, the plan, the sweep, and how many of everything
// there are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/price_lists.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/search_axis.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/sweep.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/paired_difference.hpp"
#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr double kLeastTarget = 1e-9;  // figures are told as multiples of it

constexpr std::array<Names, 5> kObjectives = {"least-dram", "least-cost", "most-load",
                                              "most-goodput-per-cost", "least-gpus"};
constexpr double kHuge = 1e15;
constexpr std::int64_t kMostReplications = 1000;
constexpr Names kAuto[] = {"auto"};
constexpr Key sizes_key(Names name, Names help, Names otherwise) {
  Key key = or_form(list_of(capacity_key(name, help, otherwise)), KeyForm::kText);
  key.choices = kAuto;
  return key;
}

constexpr Key kSloKeys[] = {
    required(text_key(
        "metric",
        "Key of a run's results: p99_ttft_ms, mean_tpot_ms, output_throughput and others.")),
    number_key("max", 0, kHuge, "Limit of a latency or of rejected_share."),
    number_key("min", 0, kHuge, "Limit of a throughput."),
    text_key("tenant", "Tenant whose requests count.", "all requests")};
constexpr Key kPlanKeys[] = {
    text_key("tier", "Tier whose size the plan chooses.", "the first tier"),
    sizes_key("sizes", "Sizes to try, ascending; or auto.", "auto: from the reuse curve"),
    axes_key("search", "Dotted keys as in --set, each with the values to try."),
    choice_key("objective", kObjectives, "What the recommended configuration has least or most of.",
               "least-dram"),
    number_key("confidence", 0.5, 0.999, "Confidence that the recommended size meets every target.",
               "0.95"),
    integer_key("replications", 1, kMostReplications,
                "Most replicates of a size. 1: the workload itself, without an interval.", "40"),
    integer_key("max_runs", 1, kMostCount, "Budget of runs."),
    capacity_key("round_to", "Sizes are multiples of this, as they can be bought or set."),
    aside(text_key("prices", "Price list: list-2025, or the path of a file.")),
    list_of(object_key("demand", ScenarioKeys::kDemand,
                       "Further demands. Their regret ranks the sizes.")),
    flag_key("sensitivity", "Whether to move rates, lengths, times and sizes one at a time.",
             "true"),
    flag_key("stress",
             "Whether to try forecasts, peaks, a lost host, a cold restart and slow links.",
             "as sensitivity"),
    number_key("growth_per_month", 0, 1, "Growth of the session rate in forecasts.",
               "0.05, as assumed")};
constexpr Key kDemandKeys[] = {
    required(text_key("name", "Name in the report.")),
    object_key("growth", ScenarioKeys::kGrowth, "Factors on the recorded workload.")};
constexpr Key kSweepKeys[] = {
    required(axes_key("vary", "Dotted keys as in --set, each with the values to try.")),
    integer_key("replications", 1, kMostReplications, "Replicates of each combination.", "1")};
constexpr std::string_view kRoutings[] = {"session-hash", "round-robin", "least-loaded"};
constexpr Key kFleetKeys[] = {
    integer_key("replicas", 1, FleetChoice::kMostReplicas, "Identical instances.", "1"),
    choice_key("routing", kRoutings,
               "Which instance serves a request. session-hash: one for each session. round-robin: "
               "in turn. least-loaded: least 4 x waiting + running.",
               "session-hash")};

/// An object of dotted keys and lists of values.
std::vector<SearchAxis> read_axes(const ObjectReader& o, std::string_view key) {
  std::vector<SearchAxis> out;
  const auto axes = o.open_object(key);
  if (!axes) return out;
  for (const std::string& name : axes->keys()) {
    const nlohmann::json& values = axes->value(name);
    if (!values.is_array() || values.empty()) {
      axes->fail(name, "expected a list of the values to try");
    }
    SearchAxis axis{name, {}, axes->where(name)};
    for (const nlohmann::json& value : values) {
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (std::find(axis.values.begin(), axis.values.end(), text) != axis.values.end()) {
        axes->fail(name, fmt::format("the value {} is given twice", text));
      }
      axis.values.push_back(std::move(text));
    }
    if (name == "seed") axes->fail(name, "expected replications, which vary the seed already");
    out.push_back(std::move(axis));
  }
  return out;
}

/// Token gaps and cold reads are told step by step, for all requests in it at once.
void check_of_tenant(const ObjectReader& item, const SloTarget& target) {
  if (target.tenant.empty()) item.fail("tenant", "expected the name of a tenant, found none");
  const auto about = [&](std::string_view what) { return target.name.find(what) != Names::npos; };
  if (about("_itl_") || about("decode_cold")) {
    item.fail("tenant", fmt::format("{} is known for all requests together; expected ttft, tpot or "
                                    "e2el, {}, goodput or a throughput of a tenant",
                                    target.name, kRejectedShare));
  }
}

void read_sizes(const ObjectReader& plan, const Scenario& s, PlanChoice& out) {
  if (!plan.has("sizes") || plan.value("sizes") == "auto") return;
  const auto sizes = plan.texts("sizes", ObjectReader::kSize);
  if (sizes->empty())
    plan.missing("sizes", "sizes to try, e.g. [\"0GiB\", \"64GiB\"], or \"auto\"");
  std::uint64_t previous = 0;
  for (const std::string& size : *sizes) {
    const Capacity capacity =
        instance_capacity(s, *s.tier, parse_capacity(size, plan.where("sizes")));
    const std::uint64_t blocks = checked_tier_blocks(s, capacity, size, plan.where("sizes"));
    if (!out.sizes.empty() && blocks <= previous) {
      plan.fail("sizes",
                fmt::format("expected ascending sizes, found {} after {}", size, out.sizes.back()));
    }
    previous = blocks;
    out.sizes.push_back(size);
    out.capacities.push_back(capacity);
  }
}

}  // namespace

const KeyTable ScenarioKeys::kSlo = kSloKeys;
const KeyTable ScenarioKeys::kPlan = kPlanKeys;
const KeyTable ScenarioKeys::kDemand = kDemandKeys;
const KeyTable ScenarioKeys::kSweep = kSweepKeys;
const KeyTable ScenarioKeys::kFleet = kFleetKeys;

std::string_view name_of(FleetRouting routing) {
  return kRoutings[static_cast<std::size_t>(routing)];
}

std::string_view name_of(Objective objective) {
  return kObjectives[static_cast<std::size_t>(objective)];
}

void read_slo(const ObjectReader& top, Scenario& s) {
  for (const ObjectReader& item : top.objects("slo", ScenarioKeys::kSlo)) {
    SloTarget target;
    target.where = item.where();
    target.name = item.require_text("metric");
    const RunMetric* metric = find_metric(slo_metrics(), target.name);
    if (metric == nullptr) {
      item.fail("metric", unknown_name("metric", target.name, metric_names(slo_metrics())));
    }
    const bool latency = metric->lower_is_better;
    const std::string_view bound = latency ? "max" : "min";
    if (item.has(latency ? "min" : "max")) {
      item.fail(latency ? "min" : "max", fmt::format("expected {} for {}", bound, target.name));
    }
    target.at_least = !latency;
    target.target = item.require_number(bound);
    if (target.target > 0 && target.target < kLeastTarget) {
      item.fail(bound,
                fmt::format("expected 0, or {} or more, found {}", kLeastTarget, target.target));
    }
    target.tenant = item.text("tenant").value_or("");
    if (item.has("tenant")) check_of_tenant(item, target);
    s.slo.push_back(target);
  }
}

void read_plan(const ObjectReader& top, Scenario& s) {
  const auto plan = top.object("plan", ScenarioKeys::kPlan);
  if (!plan) return;
  PlanChoice out;
  out.where = plan->where();
  if (!s.tier) {
    plan->fail("",
               "the scenario has no tier whose size a plan could choose; expected tiers, e.g. "
               "[{\"name\": \"dram\", \"kind\": \"dram\", \"capacity\": \"64GiB\"}]");
  }
  out.tier = plan->text("tier").value_or(s.tier->name);
  if (s.tier->name != out.tier) {
    plan->fail("tier", fmt::format("unknown tier \"{}\"; known: {}", out.tier, s.tier->name));
  }
  read_sizes(*plan, s, out);
  out.search = read_axes(*plan, "search");
  if (const auto name = plan->text("objective")) {
    const auto at = std::find(kObjectives.begin(), kObjectives.end(), *name);
    out.objective = static_cast<Objective>(at - kObjectives.begin());
  }
  out.confidence = plan->number("confidence").value_or(out.confidence);
  assign(out.replications, plan->integer("replications"));
  if (out.replications > 1 && out.replications < kLeastReplications) {
    plan->fail("replications",
               fmt::format("{} replicates decide nothing; expected {} or more, or 1 for the "
                           "workload itself without confidence",
                           out.replications, kLeastReplications));
  }
  out.max_runs = static_cast<std::uint64_t>(plan->integer("max_runs").value_or(0));
  if (const auto step = plan->text("round_to", ObjectReader::kSize)) {
    parse_capacity(*step, plan->where("round_to"));
    out.round_to = *step;
  }
  if (const auto prices = plan->text("prices")) {
    const bool file = prices->find_first_of("/.") != std::string::npos;
    if (!file) find_row(price_lists(), "price list", *prices, plan->where("prices"));
    out.prices = file ? path_beside(std::filesystem::path(s.path).parent_path().string(),
                                    plan->where("prices"), *prices)
                      : *prices;
  }
  for (const ObjectReader& item : plan->objects("demand", ScenarioKeys::kDemand)) {
    DemandChoice demand;
    demand.where = item.where();
    demand.name = item.require_text("name");
    demand.growth = read_growth(item);
    out.demand.push_back(std::move(demand));
  }
  out.sensitivity = plan->boolean("sensitivity").value_or(true);
  out.stress = plan->boolean("stress").value_or(out.sensitivity);
  out.growth_per_month = plan->number("growth_per_month");
  s.plan = std::move(out);
}

void read_sweep(const ObjectReader& top, Scenario& s) {
  const auto sweep = top.object("sweep", ScenarioKeys::kSweep);
  if (!sweep) return;
  SweepChoice out;
  out.where = sweep->where();
  out.vary = read_axes(*sweep, "vary");
  if (out.vary.empty()) {
    sweep->missing("vary", "keys and their values, e.g. {\"engine.max_num_seqs\": [64, 256]}");
  }
  assign(out.replications, sweep->integer("replications"));
  s.sweep = std::move(out);
}

void read_fleet(const ObjectReader& top, Scenario& s) {
  const auto policies = top.object("policies", ScenarioKeys::kPolicies);
  auto routing = policies ? policies->text("routing") : std::nullopt;
  if (routing) std::replace(routing->begin(), routing->end(), '_', '-');
  if (const auto fleet = top.object("fleet", ScenarioKeys::kFleet)) {
    s.fleet->where = fleet->where();
    assign(s.fleet->replicas, fleet->integer("replicas"));
    const auto own = fleet->text("routing");
    if (own && routing && *own != *routing) {
      policies->fail("routing", fmt::format("contradicts fleet.routing {}; expected one of the "
                                            "two, they say the same",
                                            *own));
    }
    if (own) routing = own;
  }
  if (!routing) return;
  const auto at = std::find(std::begin(kRoutings), std::end(kRoutings), *routing);
  s.fleet->routing = static_cast<FleetRouting>(at - std::begin(kRoutings));
}

}  // namespace spillway
