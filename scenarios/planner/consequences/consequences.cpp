#include "scenarios/planner/consequences/consequences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/cells.hpp"
#include "scenarios/planner/answer/configurations.hpp"
#include "scenarios/planner/answer/floor.hpp"
#include "scenarios/planner/answer/margin.hpp"
#include "scenarios/planner/answer/remedies.hpp"
#include "scenarios/planner/consequences/cost.hpp"
#include "scenarios/planner/consequences/counterfactuals.hpp"
#include "scenarios/planner/consequences/regret.hpp"
#include "scenarios/planner/consequences/sensitivity.hpp"
#include "scenarios/planner/consequences/stress.hpp"
#include "scenarios/planner/judgement/plan_facts.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kMostReplicates = 3;  // behind one answer to "what if"
constexpr std::uint32_t kConfirming = 10;     // behind a change that is told as a remedy
// With less than this left of plan.max_runs neither floor nor remedies are looked for.
constexpr std::uint64_t kLeastRemedyRuns = 24;
constexpr std::size_t kMostFloors = 8;  // of searched settings
// For the progress: what larger sizes survive, the nearest events again, the ceiling.
constexpr std::uint64_t kMarginRuns = 2 * kStressRuns + 16;
constexpr std::size_t kToldEvents = 2;     // in the first line
constexpr std::size_t kMostNextSizes = 2;  // that are asked what they survive

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

/// On replicates of the workload of `scenario`.
WhatIfBatch runs_on(TrialRunner& runner, const Scenario& scenario) {
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
  source.stop = runner.stop();
  return what_if_runs(
      source, runner.threads(),
      [&runner] {
        if (runner.out_of_time()) throw OutOfTime();
      },
      [&runner] { runner.ran_one(); });
}

/// Keys that say how much there is, not how it works: one instance alone does not depend on them.
bool says_how_many(std::string_view key) {
  return key == "fleet.replicas" || is_load_key(key);
}

class Consequences {
 public:
  Consequences(PlanResult& plan, const SearchSpace& space, const CellTrials& trials,
               const std::optional<Prices>& prices, TrialRunner& runner, const JsonSource* source)
      : plan_(plan),
        space_(space),
        choice_(*space.variants.front().scenario.plan),
        trials_(trials),
        prices_(prices ? &*prices : nullptr),
        runner_(runner),
        source_(source),
        replicates_(replicates_of(plan, trials)) {
    run_ = runs_on(runner,
                   space.cells[static_cast<std::size_t>(std::max(0, plan.recommended))].scenario);
  }

  void add(Replication replication) {
    plan_.cost =
        find_cost({cells_of(plan_, space_), prices_, attainments_of(trials_), replication});
    const std::uint64_t demands = demand_runs();
    const std::uint64_t factors = choice_.sensitivity && plan_.recommended >= 0
                                      ? sensitivity_budget(runner_.done() + demands)
                                      : 0;
    events_ = choice_.stress ? kStressRuns + kMarginRuns : 0;
    // The demands are asked before the rest, so what they leave of a budget is the others'.
    runner_.expect(capped(demands + factors + events_));
    if (demands > 0) add_regret();
    if (factors > 0) add_sensitivity(factors);
    if (plan_.recommended < 0) add_counterfactuals();
    if (events_ > 0) add_stress();
    if (plan_.recommended < 0) {
      add_remedies();
    } else if (choice_.stress) {
      add_margin();
      add_growth_remedy();
      add_ceiling(plan_.recommended);
    }
  }

 private:
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
      out_of_time(what);
      return false;
    }
    const std::optional<std::uint64_t> runs = left();
    if (!runs || *runs >= least) return true;
    plan_.notes.push_back(plan_note(
        "left-out-by-runs",
        {{"what", what}, {"left", *runs}, {"max_runs", choice_.max_runs}, {"needed", least}}));
    return false;
  }

  void out_of_time(const char* what) {
    plan_.notes.push_back(plan_note("left-out-by-time", {{"what", what}}));
  }

  void add_regret() {
    if (!allowed("Regret over plan.demand", choice_.demand.size())) return;
    runner_.begin("demand scenarios");
    try {
      plan_.regret = find_regret({cells_of(plan_, space_), choice_.demand, choice_.objective,
                                  prices_, replicates_, run_, left().value_or(0)});
    } catch (const OutOfTime&) {
      out_of_time("Regret over plan.demand");
    }
  }

  void add_sensitivity(std::uint64_t budget) {
    if (!allowed("Sensitivity", 1)) return;
    runner_.begin("sensitivity");
    runner_.expect(capped(budget + events_));
    plan_.sensitivity =
        find_sensitivity({cells_of(plan_, space_), replicates_, run_, capped(budget)});
    if (!plan_.sensitivity) return;
    if (runner_.out_of_time()) {
      const bool any = !plan_.sensitivity->rows.empty();
      if (!any) plan_.sensitivity.reset();
      any ? plan_.notes.push_back(plan_note("sensitivity-cut-short")) : out_of_time("Sensitivity");
    } else if (const std::uint64_t most = capped(budget); most < budget) {
      plan_.notes.push_back(
          plan_note("sensitivity-with-fewer-runs", {{"runs", most}, {"usual_runs", budget}}));
    }
  }

  void add_counterfactuals() {
    // A plan that a budget ended has said so.
    if (plan_.undecided && (runner_.out_of_time() || left().value_or(2) < 2)) return;
    if (!allowed("What would help", 2)) return;
    runner_.begin("what would help");
    runner_.expect(capped(kCounterfactualRuns + events_));
    try {
      plan_.judgement.counterfactuals =
          find_counterfactuals({cells_of(plan_, space_), run_, left().value_or(0)});
    } catch (const OutOfTime&) {
      out_of_time("What would help");
    }
  }

  /// Runs of the plan's cells with keys changed.
  Configurations configurations(int cell) {
    const Scenario& s = space_.cells[static_cast<std::size_t>(cell)].scenario;
    return {*source_, space_, runs_on(runner_, s), choice_.replications == 1};
  }

  /// What remedies are confirmed on.
  std::vector<std::uint32_t> confirming() const {
    if (choice_.replications == 1) return {};
    std::vector<std::uint32_t> out(std::min(kConfirming, choice_.replications));
    std::iota(out.begin(), out.end(), 0U);
    return out;
  }

  RemedyQuestion remedy_question(Configurations& trials, int cell) const {
    const Scenario& s = space_.cells[static_cast<std::size_t>(cell)].scenario;
    return {plan_, space_, trials, runner_.workload(s), confirming(), left().value_or(0)};
  }

  /// The cell as the scenario has it, at the size of `cell`: the fewest GPUs where these were
  /// searched.
  int plainest(int cell) const {
    int out = cell;
    const PlanPoint& here = plan_.points[static_cast<std::size_t>(cell)];
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      if (plan_.points[i].capacity != here.capacity) continue;
      const Scenario& s = space_.cells[i].scenario;
      if (total_gpus(s) < total_gpus(space_.cells[static_cast<std::size_t>(out)].scenario)) {
        out = static_cast<int>(i);
      }
    }
    return out;
  }

  void add_remedies() {
    if (source_ == nullptr || plan_.undecided || plan_.answer.rests_on_idle_axis()) return;
    if (!allowed("What would meet the SLO", kLeastRemedyRuns)) return;
    runner_.begin("what would meet the SLO");
    const int cell = plainest(judged_point(plan_));
    Configurations trials = configurations(cell);
    try {
      if (!plan_.floor || plan_.floor->met) add_ceiling(cell);
      Remedies found = find_remedies(remedy_question(trials, cell), cell);
      if (found.remedy) found.remedy->more = more_cost(trials, cell, *found.remedy);
      plan_.answer.remedy = std::move(found.remedy);
      plan_.answer.alone = std::move(found.alone);
    } catch (const OutOfTime&) {
      out_of_time("What would meet the SLO");
    }
  }

  /// The next larger sizes of the recommended cell's line that may meet the SLO.
  std::vector<int> larger_sizes() const {
    std::vector<int> out;
    const PlanPoint& here = plan_.points[static_cast<std::size_t>(plan_.recommended)];
    for (std::size_t i = 0; i < plan_.points.size() && out.size() < kMostNextSizes; ++i) {
      const PlanPoint& there = plan_.points[i];
      const bool larger = there.values == here.values && !there.unbounded &&
                          there.capacity_bytes > here.capacity_bytes;
      if (larger && !there.cold_limited && there.verdict != CellVerdict::kMissed) {
        out.push_back(static_cast<int>(i));
      }
    }
    return out;
  }

  void add_margin() {
    const auto stress_of = [&](int cell) -> std::optional<PlanStress> {
      if (left().value_or(kStressRuns) < kStressRuns) return std::nullopt;
      const Scenario& s = space_.cells[static_cast<std::size_t>(cell)].scenario;
      return find_stress({cells_of(plan_, space_), cell, runs_on(runner_, s), runner_.workload(s),
                          choice_.growth_per_month, 0, true});
    };
    try {
      runner_.begin("the next size");
      plan_.margin = find_margin(plan_, larger_sizes(), stress_of);
      if (plan_.margin && left().value_or(kLeastRemedyRuns) >= kLeastRemedyRuns) {
        const auto at = static_cast<std::size_t>(plan_.recommended);
        confirm_events(*plan_.margin, space_.cells[at].scenario, run_, replicates_, kToldEvents);
      }
      find_free_savings();
    } catch (const OutOfTime&) {
      out_of_time("What the next size survives");
      plan_.margin = find_margin(plan_, {}, stress_of);
    }
  }

  /// The load above which no size of the tier helps.
  void add_ceiling(int cell) {
    if (source_ == nullptr || left().value_or(kLeastRemedyRuns) < kLeastRemedyRuns) return;
    const Scenario& s = space_.cells[static_cast<std::size_t>(cell)].scenario;
    const double span_s = offered_span_s(*s.workload, runner_.workload(s));
    if (span_s <= 0) return;
    runner_.begin("the highest load");
    Configurations trials = configurations(cell);
    try {
      const double rate = static_cast<double>(runner_.workload(s).size()) / span_s;
      plan_.ceiling = find_ceiling(trials, s, cell, rate);
    } catch (const OutOfTime&) {
      out_of_time("The highest load");
    }
  }

  void find_free_savings() {
    const std::uint32_t takes =
        space_.cells[static_cast<std::size_t>(plan_.recommended)].scenario.fleet->replicas;
    const int fewest = plainest(plan_.recommended);
    if (source_ != nullptr && fewest != plan_.recommended && takes > 1 && !left()) {
      runner_.begin("free settings");
      Configurations trials = configurations(fewest);
      plan_.answer.cheaper = find_fewer_replicas(remedy_question(trials, fewest), fewest, takes);
      if (plan_.answer.cheaper) return;
    }
    const int below = first_missed_below();
    if (source_ == nullptr || below < 0 || left().value_or(kLeastRemedyRuns) < kLeastRemedyRuns) {
      return;
    }
    runner_.begin("free settings");
    Configurations trials = configurations(below);
    plan_.answer.cheaper = find_cheaper(remedy_question(trials, below), below);
  }

  /// The last forecast that fails; null where none does.
  const StressRow* last_failure() const {
    const StressRow* out = nullptr;
    if (!plan_.stress) return out;
    for (const StressRow& row : plan_.stress->rows) {
      if (row.kind == "forecast" && row.growth && row.outcome == StressOutcome::kMissed) out = &row;
    }
    return out;
  }

  void add_growth_remedy() {
    const StressRow* forecast = last_failure();
    if (source_ == nullptr || !plan_.margin || forecast == nullptr ||
        left().value_or(kLeastRemedyRuns) < kLeastRemedyRuns) {
      return;
    }
    runner_.begin("growth");
    const int cell = plan_.recommended;
    const std::optional<NextSize>& next = plan_.margin->next;
    std::optional<TriedChange> larger;
    if (next && std::count(next->survives.begin(), next->survives.end(), forecast->name) > 0) {
      larger.emplace().kind = ChangeKind::kTier;
      larger->met = true;
      larger->changes = {{"tiers.0.capacity", plan_.points[static_cast<std::size_t>(cell)].capacity,
                          next->capacity}};
    }
    Configurations trials = configurations(cell);
    RemedyQuestion question = remedy_question(trials, cell);
    question.sessions = *forecast->growth;
    try {
      std::optional<TriedChange> found = find_for_growth(question, cell, larger);
      if (!found) return;
      found->more = more_cost(trials, cell, *found);
      plan_.margin->growth = GrowthRemedy{forecast->name, question.sessions, std::move(*found)};
    } catch (const OutOfTime&) {
      out_of_time("What lasts through growth");
    }
  }

  /// What a change of `cell` costs; nothing where a price is missing.
  std::optional<MoreCost> more_cost(const Configurations& trials, int cell,
                                    const TriedChange& change) const {
    if (prices_ == nullptr || change.free()) return std::nullopt;
    const auto at = static_cast<std::size_t>(cell);
    const RunResult& run = plan_.points[at].run;
    const CellPrice now = price_of(space_.cells[at].scenario, run, *prices_);
    const CellPrice then = price_of(trials.scenario(cell, change.changes), run, *prices_);
    if (!now.missing.empty() || !then.missing.empty()) return std::nullopt;
    return MoreCost{then.per_month - now.per_month, prices_->currency};
  }

  /// The largest size below the recommended one that misses the SLO.
  int first_missed_below() const {
    int out = -1;
    const PlanPoint& here = plan_.points[static_cast<std::size_t>(plan_.recommended)];
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      const PlanPoint& there = plan_.points[i];
      if (there.values != here.values || there.capacity_bytes >= here.capacity_bytes) continue;
      if (!there.looks_met() && !there.cold_limited && !here.unbounded) out = static_cast<int>(i);
    }
    return out;
  }

  void add_stress() {
    const int at = judged_point(plan_);
    // A plan that a budget ended has said so, and of a cell that cannot be judged nothing is known.
    if (plan_.undecided && (runner_.out_of_time() || left().value_or(2) < 2)) return;
    if (at < 0 || plan_.points[static_cast<std::size_t>(at)].cold_limited) return;
    if (!allowed("Stress (forecasts, peaks, losses)", 2)) return;
    runner_.begin("forecasts and losses");
    runner_.expect(capped(events_));
    const Scenario& scenario = space_.cells[static_cast<std::size_t>(at)].scenario;
    try {
      plan_.stress =
          find_stress({cells_of(plan_, space_), at, runs_on(runner_, scenario),
                       runner_.workload(scenario), choice_.growth_per_month, left().value_or(0)});
    } catch (const OutOfTime&) {
      out_of_time("Stress (forecasts, peaks, losses)");
    }
  }

  PlanResult& plan_;
  const SearchSpace& space_;
  const PlanChoice& choice_;
  const CellTrials& trials_;
  const Prices* prices_;
  TrialRunner& runner_;
  const JsonSource* source_;
  std::vector<std::uint32_t> replicates_;
  std::uint64_t events_ = 0;  ///< runs that come last, for the progress
  WhatIfBatch run_;
};

}  // namespace

std::optional<Prices> prices_of(const PlanChoice& choice) {
  if (choice.prices.empty()) return std::nullopt;
  return load_prices(choice.prices);
}

void check_prices(const SearchSpace& space) {
  const PlanChoice& choice = *space.variants.front().scenario.plan;
  const bool costs = choice.objective == Objective::kLeastCost ||
                     choice.objective == Objective::kMostGoodputPerCost;
  const std::optional<Prices> prices = prices_of(choice);
  if (!costs || !prices) return;
  for (const PlanCell& cell : space.cells) {
    require_prices(price_of(cell.scenario, RunResult{}, *prices), *prices,
                   name_of(choice.objective));
  }
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
  if (plan.stress) out += kStressRuns + kMarginRuns;
  if (plan.max_runs == 0) return out;
  return std::min(out, plan.max_runs - std::min(plan.max_runs, runs));
}

void add_consequences(PlanResult& plan, const SearchSpace& space, const CellTrials& trials,
                      const std::optional<Prices>& prices, Replication replication,
                      TrialRunner& runner, const JsonSource* source) {
  Consequences(plan, space, trials, prices, runner, source).add(replication);
}

void find_plan_floor(PlanResult& plan, const SearchSpace& space, TrialRunner& runner,
                     const JsonSource* source) {
  const PlanChoice& choice = *space.variants.front().scenario.plan;
  const std::uint64_t left = choice.max_runs == 0
                                 ? kLeastRemedyRuns
                                 : choice.max_runs - std::min(choice.max_runs, runner.done());
  if (source == nullptr || left < kLeastRemedyRuns || runner.out_of_time()) return;
  // A run under load that meets the SLO is proof that its own settings can.
  const auto met = std::find_if(plan.points.begin(), plan.points.end(), [](const PlanPoint& p) {
    return p.looks_met() && !p.cold_limited;
  });
  runner.begin("one request at a time");
  std::set<std::vector<std::pair<std::string, std::string>>> seen;
  try {
    for (const auto& line : space.lines) {
      const int cell = static_cast<int>(line.front());
      std::vector<std::pair<std::string, std::string>> values = plan.points[line.front()].values;
      std::erase_if(values, [](const auto& v) { return says_how_many(v.first); });
      if (seen.size() == kMostFloors || !seen.insert(values).second) continue;
      const Scenario& s = space.cells[line.front()].scenario;
      if (met != plan.points.end() && met->values != plan.points[line.front()].values) continue;
      Configurations trials(*source, space, runs_on(runner, s), choice.replications == 1);
      std::optional<PlanFloor> found = find_floor(trials, s, cell, met == plan.points.end());
      if (found && !found->met && met != plan.points.end()) return;
      if (found && (!plan.floor || found->met)) plan.floor = std::move(found);
      if (plan.floor && plan.floor->met) return;
    }
  } catch (const OutOfTime&) {
    plan.notes.push_back(plan_note("left-out-by-time", {{"what", "The floor"}}));
  }
}

}  // namespace spillway
