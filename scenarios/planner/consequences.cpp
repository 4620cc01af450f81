#include "scenarios/planner/consequences.hpp"

#include <algorithm>

#include "scenarios/planner/cost.hpp"
#include "scenarios/planner/regret.hpp"
#include "scenarios/planner/sensitivity.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kMostReplicates = 3;  // behind one answer to "what if"

PlanCells cells_of(const PlanResult& plan, const SearchSpace& space) {
  PlanCells out{plan, {}};
  for (const PlanCell& cell : space.cells) out.scenarios.push_back(&cell.scenario);
  return out;
}

/// Those that the recommended cell was judged on, or the workload itself.
std::vector<std::uint32_t> replicates_of(const PlanResult& plan, const CellTrials& trials) {
  std::vector<std::uint32_t> out;
  const auto best = static_cast<std::size_t>(std::max(0, plan.recommended));
  if (best < trials.size()) {
    for (const CellTrial& trial : trials[best]) {
      if (out.size() < kMostReplicates) out.push_back(trial.replicate);
    }
  }
  if (out.empty()) out.push_back(kWorkloadItself);
  return out;
}

std::vector<Attainments> attainments_of(const CellTrials& trials) {
  std::vector<Attainments> out;
  for (const auto& cell : trials) {
    out.emplace_back();
    for (const CellTrial& trial : cell) {
      if (!trial.cut) out.back().emplace_back(trial.replicate, trial.attainment);
    }
    std::sort(out.back().begin(), out.back().end());
  }
  return out;
}

}  // namespace

std::optional<Prices> prices_of(const PlanChoice& choice) {
  if (choice.prices.empty()) return std::nullopt;
  return load_prices(choice.prices);
}

std::vector<double> scores_of(const PlanResult& plan, const SearchSpace& space,
                              const std::optional<Prices>& prices) {
  const Objective objective = space.variants.front().scenario.plan->objective;
  if (objective == Objective::kMostLoad) return loads_of(space);
  if (objective == Objective::kLeastGpus) return gpu_scores(space);
  if (objective == Objective::kLeastDram) return {};
  KV_ASSERT(prices, "{} without prices", name_of(objective));
  std::vector<double> out;
  for (std::size_t i = 0; i < space.cells.size(); ++i) {
    const RunResult& run = plan.points[i].run;
    const CellPrice price = price_of(space.cells[i].scenario, run, *prices);
    require_prices(price, *prices, name_of(objective));
    out.push_back(objective == Objective::kLeastCost ? -price.per_month
                                                     : goodput_per_cost(run, price.per_month));
  }
  return out;
}

void add_consequences(PlanResult& plan, const SearchSpace& space, const CellTrials& trials,
                      const std::optional<Prices>& prices, TrialRunner& runner) {
  const Scenario& first = space.variants.front().scenario;
  const Prices* const given = prices ? &*prices : nullptr;
  const std::vector<Attainments> attainment = attainments_of(trials);
  plan.cost =
      find_cost({cells_of(plan, space), given, attainment, runner.replicates(first).replication()});
  const auto best = static_cast<std::size_t>(std::max(0, plan.recommended));
  const Scenario& scenario = space.cells[best].scenario;
  WhatIfSource source;
  source.replicate = [&](std::uint32_t r) -> const Workload& {
    return runner.replicate(scenario, r);
  };
  source.seed = scenario.seed;
  const WhatIfBatch run = what_if_runs(source, runner.threads(), [&] { runner.ran_one(); });
  const std::vector<std::uint32_t> replicates = replicates_of(plan, trials);
  const std::uint64_t budget = sensitivity_budget(runner.done());
  if (!first.plan->demand.empty()) {
    plan.regret = find_regret({cells_of(plan, space), first.plan->demand, first.plan->objective,
                               given, replicates, run, 0});
  }
  if (first.plan->sensitivity && plan.recommended >= 0 && runner.out_of_time()) {
    plan.notes.emplace_back("Sensitivity is left out: the time budget is spent");
  } else if (first.plan->sensitivity && plan.recommended >= 0) {
    runner.expect(budget);
    plan.sensitivity = find_sensitivity({cells_of(plan, space), replicates, run, budget});
  }
}

}  // namespace spillway
