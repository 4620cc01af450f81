#include "reports/plan/pages/outlook.hpp"

#include <fmt/format.h>

#include <vector>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"

namespace spillway {

namespace {

bool about_recommended(const PlanResult& plan) {
  if (!plan.stress || plan.recommended < 0) return false;
  const PlanPoint& answer = cell_at(plan, plan.recommended);
  return plan.stress->cell == name_of_cell(answer) || plan.stress->cell == answer.capacity;
}

/// By the replicates that confirmed it, where there were any.
std::string failure_words(const PlanResult& plan, const StressRow& row) {
  if (plan.margin) {
    for (const BreakingEvent& event : plan.margin->broken) {
      if (event.name != row.name || event.replicates < 2 || event.target != row.target) continue;
      return fmt::format("{} in {} replicates",
                         against_limit({row.target, "", event.value, event.limit, row.at_least}),
                         event.replicates);
    }
  }
  return against_limit({row.target, "", row.value, row.limit, row.at_least});
}

std::string growth_words(const PlanStress& stress) {
  return fmt::format("Sessions grow {} a month{}, one run each",
                     format_percent(stress.growth_per_month),
                     stress.growth_assumed ? " (assumed: set plan.growth_per_month)" : "");
}

}  // namespace

Fact outlook_fact(const PlanResult& plan) {
  std::vector<const StressRow*> rows;
  if (about_recommended(plan)) {
    for (const StressRow& row : plan.stress->rows) {
      const bool ran = row.outcome == StressOutcome::kMet || row.outcome == StressOutcome::kMissed;
      if (row.kind == "forecast" && ran) rows.push_back(&row);
    }
  }
  if (rows.empty()) {
    return {"Next 12 months", "Not tested", "plan.stress tests growth", Status::kUncertain};
  }
  const std::string label = "Next " + forecast_span(rows.back()->name);
  const StressRow* held = nullptr;
  for (const StressRow* row : rows) {
    if (row->outcome == StressOutcome::kMet) {
      held = row;
      continue;
    }
    std::string detail = held == nullptr
                             ? std::string()
                             : fmt::format("Holds for {}. Then ", forecast_span(held->name));
    detail += failure_words(plan, *row);
    if (plan.margin && plan.margin->growth) {
      detail +=
          ". For " + forecast_span(rows.back()->name) + ": " + growth_remedy_words(*plan.margin);
    }
    detail += ". " + growth_words(*plan.stress);
    return {label, fmt::format("Fails within {}", forecast_span(row->name)), std::move(detail),
            Status::kMissed};
  }
  return {label, "Holds", growth_words(*plan.stress), Status::kMet};
}

}  // namespace spillway
