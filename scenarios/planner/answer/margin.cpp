#include "scenarios/planner/answer/margin.hpp"

#include <algorithm>

#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "scenarios/planner/consequences/factors.hpp"

namespace spillway {

namespace {

/// That a service of one host ends with it is no news.
bool breaks(const StressRow& row) {
  return row.outcome == StressOutcome::kMissed && row.kind != "as-is";
}

/// Events with a distance come first, the nearest of them in front.
double distance(const BreakingEvent& event) {
  if (!event.factor) return 1e300;
  return *event.factor >= 1 ? *event.factor : *event.factor > 0 ? 1 / *event.factor : 1e300;
}

BreakingEvent event_of(const StressRow& row) {
  BreakingEvent out;
  out.kind = row.kind;
  out.name = row.name;
  out.factor = row.growth;
  if (row.outcome == StressOutcome::kMissed) {
    out.target = row.target;
    out.value = row.value;
    out.limit = row.limit;
  }
  return out;
}

/// What breaks the recommendation and does not break the next size.
std::vector<std::string> survived_by(const PlanResult& plan, const PlanPoint& next,
                                     const std::optional<PlanStress>& there) {
  std::vector<std::string> out;
  if (plan.sensitivity) {
    for (const SensitivityRow& row : plan.sensitivity->rows) {
      const auto side = [&](double factor, bool met, const std::string& needed) {
        if (!met && needed == next.capacity) out.push_back(factor_noun(row.factor, factor));
      };
      side(row.low, row.met_low, row.needed_low);
      side(row.high, row.met_high, row.needed_high);
    }
  }
  if (!there || !plan.stress) return out;
  for (const StressRow& row : plan.stress->rows) {
    if (row.outcome != StressOutcome::kMissed || row.kind == "as-is") continue;
    for (const StressRow& same : there->rows) {
      const bool met = same.name == row.name && same.outcome == StressOutcome::kMet;
      if (met) out.push_back(row.name);
    }
  }
  return out;
}

NextSize next_size(const PlanResult& plan, int next, std::vector<std::string> survives) {
  const PlanPoint& here = plan.points[static_cast<std::size_t>(plan.recommended)];
  const PlanPoint& there = plan.points[static_cast<std::size_t>(next)];
  const bool several = plan.recommended_bytes > 0 && plan.recommended_total_bytes > 0;
  const std::int64_t tiers = several ? plan.recommended_total_bytes / plan.recommended_bytes : 1;
  NextSize out;
  out.point = next;
  out.capacity = there.capacity;
  out.more_bytes = (there.capacity_bytes - here.capacity_bytes) * std::max<std::int64_t>(1, tiers);
  out.survives = std::move(survives);
  const CellCost* costs = cost_of(plan, next);
  const CellCost* now = cost_of(plan, plan.recommended);
  if (costs != nullptr && now != nullptr) {
    out.more = MoreCost{costs->per_month - now->per_month, plan.cost->currency};
  }
  return out;
}

}  // namespace

std::optional<PlanMargin> find_margin(
    const PlanResult& plan, std::span<const int> larger,
    const std::function<std::optional<PlanStress>(int cell)>& stress_of) {
  if (plan.recommended < 0 || (!plan.sensitivity && !plan.stress)) return std::nullopt;
  PlanMargin out;
  for (const FactorLimit& limit : factor_limits(plan)) {
    // Less load breaks nothing but a rate that has to be served, which nobody asks for then.
    if (limit.factor == "arrival rate" && limit.end() < 1) continue;
    BreakingEvent event;
    event.kind = limit.factor;
    event.factor = limit.end();
    event.name = factor_event(limit.factor, limit.end());
    event.replicates = plan.sensitivity->replicates;
    out.broken.push_back(std::move(event));
  }
  if (plan.stress) {
    for (const StressRow& row : plan.stress->rows) {
      if (breaks(row)) out.broken.push_back(event_of(row));
      if (row.outcome == StressOutcome::kMet && row.kind != "as-is") {
        out.survived.push_back(row.name);
      }
    }
  }
  std::stable_sort(
      out.broken.begin(), out.broken.end(),
      [](const BreakingEvent& a, const BreakingEvent& b) { return distance(a) < distance(b); });
  for (const int next : larger) {
    if (out.broken.empty() || out.next) break;
    const PlanPoint& there = plan.points[static_cast<std::size_t>(next)];
    std::vector<std::string> survives =
        survived_by(plan, there, plan.stress ? stress_of(next) : std::nullopt);
    if (survives.empty()) continue;
    out.next = next_size(plan, next, std::move(survives));
  }
  return out;
}

void confirm_events(PlanMargin& margin, const Scenario& scenario, const WhatIfBatch& run,
                    std::span<const std::uint32_t> replicates, std::size_t most) {
  if (replicates.size() < 2) return;
  const FactorList factors = factors_of(scenario);
  std::size_t confirmed = 0;
  for (std::size_t i = 0; i < margin.broken.size() && confirmed < most;) {
    BreakingEvent& event = margin.broken[i];
    const auto factor = std::find_if(factors.factors.begin(), factors.factors.end(),
                                     [&](const Factor& f) { return f.name == event.kind; });
    const bool grows = event.kind == "peak" || event.kind == "forecast";
    if (!event.factor || (factor == factors.factors.end() && !grows)) return;
    std::vector<WhatIf> runs;
    for (const std::uint32_t replicate : replicates) {
      runs.push_back({scenario});
      runs.back().replicate = replicate;
      if (grows) {
        runs.back().growth.rate = *event.factor;
      } else {
        factor->apply(*event.factor, runs.back());
      }
    }
    const WhatIfOutcome outcome = outcome_of(scenario.slo, run(runs));
    if (!outcome.refused.empty()) return;
    if (outcome.met) {
      margin.broken.erase(margin.broken.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const SloTarget& target = scenario.slo[outcome.tightest];
    event.target = target_label(target.name, target.tenant);
    event.value = outcome.targets[outcome.tightest].value;
    event.limit = target.target;
    event.replicates = static_cast<std::uint32_t>(replicates.size());
    ++confirmed;
    ++i;
  }
}

}  // namespace spillway
