#include "scenarios/planner/answer/margin.hpp"

#include <algorithm>

#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "scenarios/planner/consequences/factors.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"

namespace spillway {

namespace {

// What replicates survive is tried at the square of it, and once more: 5% then 10% then 20%.
constexpr int kFarther = 2;

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
      for (const SensitivitySide* side : {&row.low, &row.high}) {
        if (side->met || side->needed != next.capacity) continue;
        out.push_back(factor_noun(row.factor, side->factor));
      }
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

namespace {

/// Whether the SLO is missed on replicates once something has changed so far.
class Confirmation {
 public:
  Confirmation(const Scenario& scenario, const WhatIfBatch& run,
               std::span<const std::uint32_t> replicates)
      : scenario_(scenario), run_(run), replicates_(replicates), factors_(factors_of(scenario)) {}

  bool can(const BreakingEvent& event) const {
    return event.factor && (grows(event) || factor_of(event) != nullptr);
  }
  /// Only along a factor is there anything farther than what was tried.
  bool has_farther(const BreakingEvent& event) const { return !grows(event); }

  /// Nothing where it cannot be run.
  std::optional<WhatIfOutcome> at(const BreakingEvent& event, double times) const {
    std::vector<WhatIf> runs;
    for (const std::uint32_t replicate : replicates_) {
      runs.push_back({scenario_});
      runs.back().replicate = replicate;
      if (grows(event)) {
        runs.back().growth.rate = times;
      } else {
        factor_of(event)->apply(times, runs.back());
      }
    }
    WhatIfOutcome out = outcome_of(scenario_.slo, run_(runs));
    if (!out.refused.empty()) return std::nullopt;
    return out;
  }

  void tell(BreakingEvent& event, double times, const WhatIfOutcome& outcome) const {
    const SloTarget& target = scenario_.slo[outcome.tightest];
    if (times != *event.factor) event.name = factor_event(event.kind, times);
    event.factor = times;
    event.target = target_label(target.name, target.tenant);
    event.value = outcome.targets[outcome.tightest].value;
    event.limit = target.target;
    event.replicates = static_cast<std::uint32_t>(replicates_.size());
  }

 private:
  static bool grows(const BreakingEvent& event) {
    return event.kind == "peak" || event.kind == "forecast";
  }
  const Factor* factor_of(const BreakingEvent& event) const {
    for (const Factor& f : factors_.factors) {
      if (f.name == event.kind) return &f;
    }
    return nullptr;
  }

  const Scenario& scenario_;
  const WhatIfBatch& run_;
  std::span<const std::uint32_t> replicates_;
  FactorList factors_;
};

}  // namespace

void confirm_events(PlanMargin& margin, const Scenario& scenario, const WhatIfBatch& run,
                    std::span<const std::uint32_t> replicates, std::size_t most) {
  if (replicates.size() < 2) return;
  const Confirmation confirmation(scenario, run, replicates);
  const auto nearer = [](const BreakingEvent& a, const BreakingEvent& b) {
    return distance(a) < distance(b);
  };
  for (std::size_t i = 0; i < std::min(most, margin.broken.size());) {
    BreakingEvent& event = margin.broken[i];
    const bool told = !event.target.empty() && event.replicates == replicates.size();
    if (told) {  // found farther off than it was
      ++i;
      continue;
    }
    if (!confirmation.can(event)) return;
    double times = *event.factor;
    std::optional<WhatIfOutcome> found = confirmation.at(event, times);
    for (int n = 0; n < kFarther && found && found->met && confirmation.has_farther(event); ++n) {
      times *= times;
      found = confirmation.at(event, times);
    }
    if (!found) return;
    if (found->met) {
      margin.broken.erase(margin.broken.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const bool moved = times != *event.factor;
    confirmation.tell(event, times, *found);
    if (!moved) ++i;
    if (moved) std::stable_sort(margin.broken.begin(), margin.broken.end(), nearer);
  }
}

}  // namespace spillway
