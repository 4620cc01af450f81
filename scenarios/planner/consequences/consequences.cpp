#include "scenarios/planner/consequences/consequences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/planner/consequences/cost.hpp"
#include "scenarios/planner/consequences/counterfactuals.hpp"
#include "scenarios/planner/consequences/regret.hpp"
#include "scenarios/planner/consequences/sensitivity.hpp"
#include "scenarios/planner/consequences/stress.hpp"
#include "scenarios/planner/judgement/plan_facts.hpp"

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
      // Longer replicates have numbers of their own.
      if (trial.cut || trial.length > 1) continue;
      out.back().emplace_back(trial.replicate, trial.attainment);
    }
    std::sort(out.back().begin(), out.back().end());
  }
  return out;
}

class Consequences {
 public:
  Consequences(PlanResult& plan, const SearchSpace& space, const CellTrials& trials,
               const std::optional<Prices>& prices, TrialRunner& runner)
      : plan_(plan),
        space_(space),
        choice_(*space.variants.front().scenario.plan),
        trials_(trials),
        prices_(prices ? &*prices : nullptr),
        runner_(runner),
        replicates_(replicates_of(plan, trials)) {
    run_ = runs_of(space.cells[static_cast<std::size_t>(std::max(0, plan.recommended))].scenario);
  }

  void add(Replication replication) {
    plan_.cost =
        find_cost({cells_of(plan_, space_), prices_, attainments_of(trials_), replication});
    const std::uint64_t demands = demand_runs();
    const std::uint64_t factors = choice_.sensitivity && plan_.recommended >= 0
                                      ? sensitivity_budget(runner_.done() + demands)
                                      : 0;
    events_ = choice_.stress ? kStressRuns : 0;
    // The demands are asked before the rest, so what they leave of a budget is the others'.
    runner_.expect(capped(demands + factors + events_));
    if (demands > 0) add_regret();
    if (factors > 0) add_sensitivity(factors);
    if (plan_.recommended < 0) add_counterfactuals();
    if (events_ > 0) add_stress();
  }

 private:
  /// On replicates of the workload of `scenario`.
  WhatIfBatch runs_of(const Scenario& scenario) {
    TrialRunner& runner = runner_;
    WhatIfSource source;
    source.replicate = [&runner, &scenario](std::uint32_t r) -> const Workload& {
      return runner.replicate(scenario, r);
    };
    source.seed = scenario.seed;
    source.seed_of = [&runner, &scenario](std::uint32_t r) {
      return r == kWorkloadItself ? scenario.seed : runner.replicates(scenario).seed(r);
    };
    source.recall = [&runner](const WhatIf& run) {
      return runner.recall(*run.base, run.replicate, run.change, run.verdict_only);
    };
    source.keep = [&runner](const WhatIf& run, const Trial& trial) {
      runner.keep(*run.base, run.replicate, run.change, trial);
    };
    return what_if_runs(
        source, runner.threads(),
        [&runner] {
          if (runner.out_of_time()) throw OutOfTime();
        },
        [&runner] { runner.ran_one(); });
  }

  /// Without a budget.
  std::uint64_t demand_runs() const {
    return choice_.demand.size() * space_.cells.size() * replicates_.size();
  }

  /// Of plan.max_runs; nothing where there is no such limit.
  std::optional<std::uint64_t> left() const {
    if (choice_.max_runs == 0) return std::nullopt;
    return choice_.max_runs - std::min(choice_.max_runs, runner_.done());
  }
  std::uint64_t capped(std::uint64_t runs) const { return std::min(runs, left().value_or(runs)); }

  /// Whether `least` runs may be made; notes what is left out where they may not.
  bool allowed(const char* what, std::uint64_t least) {
    if (runner_.out_of_time()) {
      plan_.notes.push_back(fmt::format("{} left out: the time budget is spent", what));
      return false;
    }
    const std::optional<std::uint64_t> runs = left();
    if (!runs || *runs >= least) return true;
    plan_.notes.push_back(
        fmt::format("{} left out: {} of plan.max_runs, {}, are left, and it takes {} at least",
                    what, *runs, choice_.max_runs, least));
    return false;
  }

  void add_regret() {
    if (!allowed("Regret over plan.demand is", choice_.demand.size())) return;
    runner_.begin("demand scenarios");
    try {
      plan_.regret = find_regret({cells_of(plan_, space_), choice_.demand, choice_.objective,
                                  prices_, replicates_, run_, left().value_or(0)});
    } catch (const OutOfTime&) {
      plan_.notes.emplace_back(
          "Regret over plan.demand is left out: the time budget ended amid its runs");
    }
  }

  void add_sensitivity(std::uint64_t budget) {
    if (!allowed("Sensitivity is", 1)) return;
    runner_.begin("sensitivity");
    runner_.expect(capped(budget + events_));
    plan_.sensitivity =
        find_sensitivity({cells_of(plan_, space_), replicates_, run_, capped(budget)});
    if (!plan_.sensitivity) return;
    if (runner_.out_of_time()) {
      const bool any = !plan_.sensitivity->rows.empty();
      if (!any) plan_.sensitivity.reset();
      plan_.notes.push_back(fmt::format("Sensitivity is {}: the time budget ended amid its runs",
                                        any ? "cut short" : "left out"));
    } else if (const std::uint64_t most = capped(budget); most < budget) {
      plan_.notes.push_back(fmt::format(
          "Sensitivity had the {} runs that plan.max_runs left, in place of {}", most, budget));
    }
  }

  void add_counterfactuals() {
    // A plan that a budget ended has said so.
    if (plan_.undecided && (runner_.out_of_time() || left().value_or(2) < 2)) return;
    if (!allowed("What would bring the nearest cell to the SLO is", 2)) return;
    runner_.begin("what would help");
    runner_.expect(capped(kCounterfactualRuns + events_));
    try {
      plan_.judgement.counterfactuals =
          find_counterfactuals({cells_of(plan_, space_), run_, left().value_or(0)});
    } catch (const OutOfTime&) {
      plan_.notes.emplace_back(
          "What would bring the nearest cell to the SLO is left out: the time budget ended amid "
          "its runs");
    }
  }

  void add_stress() {
    const int at = judged_point(plan_);
    // A plan that a budget ended has said so, and of a cell that cannot be judged nothing is known.
    if (plan_.undecided && (runner_.out_of_time() || left().value_or(2) < 2)) return;
    if (at < 0 || plan_.points[static_cast<std::size_t>(at)].cold_limited) return;
    if (!allowed("What may happen to the service is", 2)) return;
    runner_.begin("forecasts and losses");
    runner_.expect(capped(kStressRuns));
    const Scenario& scenario = space_.cells[static_cast<std::size_t>(at)].scenario;
    try {
      plan_.stress =
          find_stress({cells_of(plan_, space_), at, runs_of(scenario), runner_.workload(scenario),
                       choice_.growth_per_month, left().value_or(0)});
    } catch (const OutOfTime&) {
      plan_.notes.emplace_back(
          "What may happen to the service is left out: the time budget ended amid its runs");
    }
  }

  PlanResult& plan_;
  const SearchSpace& space_;
  const PlanChoice& choice_;
  const CellTrials& trials_;
  const Prices* prices_;
  TrialRunner& runner_;
  std::vector<std::uint32_t> replicates_;
  std::uint64_t events_ = 0;  ///< runs that come last, for the progress
  WhatIfBatch run_;
};

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

std::uint64_t consequence_runs(const SearchSpace& space, std::uint64_t runs) {
  const PlanChoice& plan = *space.variants.front().scenario.plan;
  const std::uint64_t each = plan.replications > 1 ? kMostReplicates : 1;
  std::uint64_t out = plan.demand.size() * space.cells.size() * each;
  if (plan.sensitivity) out += sensitivity_budget(runs + out);
  if (plan.stress) out += kStressRuns;
  if (plan.max_runs == 0) return out;
  return std::min(out, plan.max_runs - std::min(plan.max_runs, runs));
}

void add_consequences(PlanResult& plan, const SearchSpace& space, const CellTrials& trials,
                      const std::optional<Prices>& prices, Replication replication,
                      TrialRunner& runner) {
  Consequences(plan, space, trials, prices, runner).add(replication);
}

}  // namespace spillway
