#include "reports/plan/answer_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"

namespace spillway {

namespace {

/// Keys whose flag of vLLM is not the key's own name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFlagNames = {
    {{"model.kv_dtype", "--kv-cache-dtype"},
     {"engine.tensor_parallel_size", "--tensor-parallel-size"},
     {"engine.enable_prefix_caching", "--enable-prefix-caching"}}};

constexpr std::size_t kMostEvents = 2;  // in a line
constexpr double kNoBound = 0.5;        // of requests: a bound above it says nothing
constexpr double kFarOff = 2;           // times what it is: no margin that anybody asks for

bool is_flag(std::string_view key) {
  return key.starts_with("engine.") && key != "engine.preset";
}

std::string flag_of(const KeyChange& change) {
  for (const auto& [key, flag] : kFlagNames) {
    if (key != change.key) continue;
    return change.to == "true" ? std::string(flag) : fmt::format("{} {}", flag, change.to);
  }
  std::string name = change.key.substr(change.key.find('.') + 1);
  std::replace(name.begin(), name.end(), '_', '-');
  if (change.to == "true") return "--" + name;
  if (change.to == "false") return "--no-" + name;
  return fmt::format("--{} {}", name, change.to);
}

/// What to do about one key.
std::string deed_of(const KeyChange& change) {
  if (change.key == "fleet.replicas") {
    return fmt::format("use {} replica{}", change.to, change.to == "1" ? "" : "s");
  }
  if (change.key == "gpu") return fmt::format("use {}", change.to);
  if (change.key == "tiers.0.capacity" && is_nothing(change.to)) return "do without the tier";
  if (change.key == "tiers.0.capacity") {
    return change.to == "inf" ? std::string("use a tier without bound")
                              : fmt::format("use a tier of {}", spaced(change.to));
  }
  if (change.key == "engine.preset") return fmt::format("run {}", change.to);
  if (change.key == "tiers.0.eviction") return fmt::format("evict by {}", change.to);
  const bool by_key = change.key.starts_with("workload.") || change.key.starts_with("policies.");
  if (by_key) return fmt::format("set {}={}", change.key, change.to);
  return "set " + flag_of(change);
}

std::string percent_words(double times) {
  const double percent = std::round(std::fabs(times - 1) * 1000) / 10;
  return percent < 10 && percent != std::round(percent) ? fmt::format("{:.1f}%", percent)
                                                        : fmt::format("{:.0f}%", percent);
}

}  // namespace

std::string forecast_span(const std::string& name) {
  return name.starts_with("in ") ? name.substr(3) : name;
}

std::string survived_words(std::span<const std::string> events) {
  std::vector<std::string> shown;
  for (const std::string& event : events) {
    const bool one = event.starts_with("peak") || event.starts_with("cold");
    const bool growth = event.starts_with("in ");
    shown.push_back(growth ? forecast_span(event) + " of growth" : (one ? "a " : "") + event);
  }
  return and_list(shown);
}

std::string event_words(const BreakingEvent& event) {
  const std::string once = event.replicates < 2 ? " (one run)" : "";
  if (event.kind == "peak") return fmt::format("at a {}{}", event.name, once);
  if (event.kind == "forecast") return fmt::format("{} of growth{}", event.name, once);
  if (event.kind == "cold-restart") return fmt::format("on a cold restart{}", once);
  if (event.kind == "lost-host") return "when one host is lost" + once;
  if (event.kind == "storage" || event.kind == "link") {
    return fmt::format("with {}{}", event.name, once);
  }
  return fmt::format("if {}{}", event.name, once);
}

namespace {

/// By its figure, or, where that says otherwise than the share of requests that decides, by that.
std::string target_words(const TargetEstimate& t) {
  const bool within = t.at_least ? t.value >= t.target : t.value <= t.target;
  if (!t.share || within == t.met) {
    return against_limit({t.name, t.tenant, t.value, t.target, t.at_least});
  }
  const std::vector<std::string> shares = format_percents({t.x, t.limit});
  return fmt::format("{} of requests exceed the {} limit of {} ({} allowed)", shares[0],
                     metric_words(t.name, t.tenant), figure_words(t.name, t.target), shares[1]);
}

FigureWords figure_of(const SloResult& slo) {
  return {slo.name, slo.tenant, slo.value, slo.target, slo.at_least};
}

/// How many times its limit the deciding figure is.
double excess(const TargetEstimate& t) {
  if (t.limit == 0) return t.x > 0 ? 1e300 : 0;
  if (t.at_least) return t.x == 0 ? 1e300 : t.limit / t.x;
  return t.x / t.limit;
}

}  // namespace

std::string targets_words(const PlanPoint& point) {
  std::vector<std::string> out;
  if (point.targets.empty()) {
    for (const SloResult& slo : point.run.slo) out.push_back(against_limit(figure_of(slo)));
  }
  for (const TargetEstimate& t : point.targets) out.push_back(target_words(t));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string miss_words(const PlanPoint& point) {
  const TargetEstimate* worst = nullptr;
  for (const TargetEstimate& t : point.targets) {
    const bool misses = worst != nullptr && !worst->met;
    if (worst == nullptr || (misses == !t.met && excess(t) > excess(*worst)) ||
        (!misses && !t.met)) {
      worst = &t;
    }
  }
  if (worst == nullptr) {
    for (const SloResult& slo : point.run.slo) {
      if (!slo.passed) return against_limit(figure_of(slo));
    }
    return targets_words(point);
  }
  if (worst->met && worst->bound) {
    const std::vector<std::string> shares = format_percents({*worst->bound, worst->limit});
    if (worst->share && *worst->bound > kNoBound) {
      return fmt::format(
          "{} of requests exceed the {} limit so far ({} allowed), and more "
          "replicates must bound that",
          format_percent(worst->x), metric_words(worst->name, worst->tenant), shares[1]);
    }
    if (worst->share) {
      return fmt::format("up to {} of requests may exceed the {} limit ({} allowed)", shares[0],
                         metric_words(worst->name, worst->tenant), shares[1]);
    }
  }
  return target_words(*worst);
}

std::string margin_words(const PlanResult& plan) {
  if (!plan.margin) return {};
  const PlanMargin& m = *plan.margin;
  std::vector<std::string> events;
  for (const BreakingEvent& event : m.broken) {
    const bool far = event.factor && (*event.factor > kFarOff || *event.factor < 1 / kFarOff);
    if (far || events.size() == kMostEvents) continue;
    events.push_back(event_words(event));
  }
  if (m.broken.empty()) return "Margin: it holds in every event that was tried.";
  if (events.empty()) events.push_back("only " + event_words(m.broken.front()));
  std::string out = fmt::format("Margin: fails {}", fmt::join(events, ", or "));
  if (m.next) out += "; " + next_size_words(m);
  return out + ".";
}

std::string next_size_words(const PlanMargin& m) {
  if (!m.next) return {};
  std::string out = fmt::format(
      "{} survives {}", spaced(m.next->capacity),
      survived_words(
          std::span(m.next->survives).first(std::min(kMostEvents, m.next->survives.size()))));
  if (m.next->more) out += " for " + cost_words(*m.next->more);
  return out;
}

std::string cost_words(const MoreCost& more) {
  return fmt::format("{} {} {} a month", more.currency, format_real(std::fabs(more.per_month)),
                     more.per_month < 0 ? "less" : "more");
}

std::string month_cost_words(const PlanResult& plan) {
  const CellCost* cost = cost_of(plan, plan.recommended);
  if (cost == nullptr) return {};
  std::string out = fmt::format("{} {} a month", plan.cost->currency, format_real(cost->per_month));
  if (plan.cost->source.starts_with("assumed")) out += " at assumed prices";
  for (const CostItem& item : plan.cost->items) {
    if (item.name != plan.tier || item.per_month <= 0) continue;
    out += fmt::format(", {} of it for {}", format_real(item.per_month), kind_of_tier(plan));
  }
  return out;
}

std::string growth_remedy_words(const PlanMargin& m) {
  if (!m.growth) return {};
  const TriedChange& change = m.growth->change;
  return fmt::format("{} and it holds{}", change_words(change),
                     change.free() ? ", at no cost"
                     : change.more ? " for " + cost_words(*change.more)
                                   : "");
}

std::string runs_words(const TriedChange& tried) {
  if (tried.replicates == 0) return "one run";
  return fmt::format("{} replicate{}", tried.replicates, tried.replicates == 1 ? "" : "s");
}

Table tried_table(const PlanResult& plan) {
  Table table;
  table.title = "Changes that were tried";
  table.header = {"change", "cost", "figures", "SLO", "runs"};
  const auto add = [&](const TriedChange& tried, const char* how) {
    const bool shorter = tried.kind == ChangeKind::kShorter;
    std::vector<std::string> names;
    for (const KeyChange& change : tried.changes) names.push_back(change_name(change));
    table.rows.push_back(
        {(shorter ? std::string("half the context") : and_list(names)) + how,
         shorter        ? "-"
         : tried.free() ? "none"
                        : std::string(name_of(tried.kind)),
         tried.refused.empty() ? targets_words(tried) : "refused: " + tried.refused,
         !tried.refused.empty() ? "-"
         : tried.met            ? "met"
                                : "missed",
         tried.refused.empty() ? runs_words(tried) : "-"});
  };
  if (plan.answer.remedy && !plan.answer.remedy->targets.empty()) add(*plan.answer.remedy, "");
  if (plan.answer.cheaper) add(*plan.answer.cheaper, "");
  for (const TriedChange& tried : plan.answer.alone) add(tried, "");
  if (plan.floor) {
    for (const TriedChange& tried : plan.floor->lowered) add(tried, ", one request at a time");
  }
  return table;
}

std::string limiting_name(const PlanResult& plan) {
  return plan.judgement.binding_kind + (plan.judgement.binding_hbm ? " of HBM" : "");
}

std::string kind_of_tier(const PlanResult& plan) {
  for (const PlanPoint& point : plan.points) {
    if (point.run.swap) return "swap space";
    for (const TierResult& tier : point.run.tiers) {
      if (tier.name != plan.tier || tier.name == "hbm") continue;
      if (tier.kind.empty() || tier.kind == "dram") return "DRAM";
      return tier.kind == "nvme" ? "NVMe" : tier.kind;
    }
  }
  return plan.tier == "dram" ? "DRAM" : plan.tier;
}

std::string spaced(std::string_view size) {
  const std::size_t unit = size.find_first_not_of("0123456789.");
  if (unit == std::string_view::npos || unit == 0 || size[unit] == ' ') return std::string(size);
  return fmt::format("{} {}", size.substr(0, unit), size.substr(unit));
}

std::string targets_words(const TriedChange& tried) {
  std::vector<std::string> out;
  for (const TriedTarget& t : tried.targets) {
    out.push_back(against_limit({t.name, t.tenant, t.value, t.limit, t.at_least}));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string change_name(const KeyChange& change) {
  if (change.key == "fleet.replicas") return change.to + " replicas";
  if (change.key == "gpu") return change.to;
  if (change.key == "tiers.0.capacity" && is_nothing(change.to)) return "no tier";
  if (change.key == "tiers.0.capacity") {
    return change.to == "inf" ? "a tier without bound" : "a tier of " + spaced(change.to);
  }
  if (change.key == "engine.preset") return change.to;
  if (change.key == "tiers.0.eviction") return change.to + " eviction";
  return is_flag(change.key) || change.key == "model.kv_dtype" ? flag_of(change)
                                                               : change.key + " " + change.to;
}

std::string change_words(const TriedChange& tried) {
  if (tried.kind == ChangeKind::kShorter) return "halve prompts and answers";
  std::vector<std::string> out;
  for (const KeyChange& change : tried.changes) out.push_back(deed_of(change));
  return and_list(out);
}

std::string factor_event(std::string_view factor, double times) {
  const bool more = times > 1;
  const std::string by = percent_words(times);
  if (factor == "reuse") return fmt::format("prefix reuse {} {}", more ? "grows" : "falls", by);
  if (factor == "length of prompts and answers") {
    return fmt::format("prompts and answers {} {}", more ? "grow" : "shrink", by);
  }
  if (factor == "arrival rate") return fmt::format("load {} {}", more ? "grows" : "falls", by);
  if (factor == "clients") return fmt::format("clients {} {}", more ? "grow" : "fall", by);
  if (factor == "compute speed") {
    return fmt::format("the GPU is {} {} than modelled", by, more ? "faster" : "slower");
  }
  if (factor == "link bandwidth" || factor == "storage bandwidth") {
    return fmt::format("{} is {} {} than modelled", factor, by, more ? "higher" : "lower");
  }
  if (factor == "time of steps and copies (calibration)") {
    return fmt::format("steps and copies take {} {} than modelled", by, more ? "longer" : "less");
  }
  if (factor == "KV blocks in HBM") {
    return fmt::format("HBM has {} {} KV blocks than estimated", by, more ? "more" : "fewer");
  }
  if (factor == "block size") return fmt::format("blocks are {:g} times as large", times);
  if (factor.starts_with("share of ")) return "the tier is smaller by " + by;
  return fmt::format("{} {} {}", factor, more ? "grows" : "falls", by);
}

std::string factor_noun(std::string_view factor, double times) {
  const bool more = times > 1;
  const std::string by = percent_words(times);
  if (factor == "length of prompts and answers") {
    return fmt::format("{} {} prompts and answers", by, more ? "longer" : "shorter");
  }
  if (factor == "compute speed") {
    return fmt::format("a {} {} GPU", by, more ? "faster" : "slower");
  }
  if (factor == "time of steps and copies (calibration)") {
    return fmt::format("steps and copies that take {} {}", by, more ? "longer" : "less");
  }
  if (factor.starts_with("share of ")) return fmt::format("a tier {} smaller", by);
  if (factor == "KV blocks in HBM") {
    return fmt::format("{} {} KV blocks in HBM", by, more ? "more" : "fewer");
  }
  const std::string_view what = factor == "reuse"          ? "prefix reuse"
                                : factor == "arrival rate" ? "load"
                                                           : factor;
  return fmt::format("{} {} {}", by, more ? "more" : "less", what);
}

std::string rate_words(double per_s) {
  return format_real(per_s) + " requests/s";
}

}  // namespace spillway
