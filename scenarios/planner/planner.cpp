#include "scenarios/planner/planner.hpp"

#include <algorithm>
#include <set>

#include "scenarios/planner/judgement.hpp"
#include "scenarios/planner/search_space.hpp"
#include "scenarios/resolved.hpp"

namespace spillway {

namespace {

class Planner {
 public:
  Planner(SearchSpace space, TrialRunner& runner)
      : space_(std::move(space)),
        choice_(*space_.variants.front().scenario.plan),
        runner_(runner) {}

  PlanOutcome plan() {
    PlanResult& result = out_.result;
    result.tier = choice_.tier;
    result.objective = name_of(choice_.objective);
    result.notes = space_.notes;
    run_workload_itself();
    decide_by_itself();
    judge(result, space_, runner_.workload(space_.variants.front().scenario));
    return std::move(out_);
  }

 private:
  const Scenario& first() const { return space_.variants.front().scenario; }

  void run_workload_itself() {
    std::vector<TrialRequest> requests;
    for (const PlanCell& cell : space_.cells) requests.push_back({&cell.scenario});
    std::vector<Trial> trials = runner_.run(requests);
    std::set<std::string> seen;  // most warnings are the same in every cell
    for (std::size_t i = 0; i < trials.size(); ++i) {
      out_.result.points.push_back(point_of(space_.cells[i], trials[i]));
      for (const std::string& warning : trials[i].warnings) {
        if (seen.insert(warning).second) out_.warnings.push_back(warning);
      }
    }
  }

  /// What the run of the workload itself says of a cell, without an interval.
  PlanPoint point_of(const PlanCell& cell, Trial& trial) const {
    PlanPoint out;
    out.name = cell.name;
    out.values = space_.variants[cell.variant].values;
    out.capacity = cell.capacity;
    out.capacity_bytes = cell.capacity_bytes;
    out.unbounded = cell.unbounded;
    out.feasible = trial.met;
    out.verdict = trial.met ? CellVerdict::kLooksMet : CellVerdict::kLooksMissed;
    if (!trial.met) out.reason = "slo";
    out.attainment = out.attainment_low = trial.attainment;
    out.cold_limited = trial.cold_limited;
    for (std::size_t t = 0; t < trial.targets.size(); ++t) {
      const TargetSample& sample = trial.targets[t];
      const SloTarget& slo = cell.scenario.slo[t];
      TargetEstimate estimate;
      estimate.name = slo.name;
      estimate.tenant = slo.tenant;
      estimate.at_least = slo.at_least;
      estimate.target = slo.target;
      estimate.value = sample.value;
      estimate.x = estimate.bound = sample.x;
      estimate.limit = sample.limit;
      estimate.met = slo.at_least ? sample.x >= sample.limit : sample.x <= sample.limit;
      out.targets.push_back(std::move(estimate));
    }
    out.digest = std::move(trial.digest);
    out.run = std::move(trial.run);
    return out;
  }

  std::vector<std::uint32_t> preference() const {
    std::vector<double> score;
    if (choice_.objective == Objective::kMostLoad) score = loads_of(space_);
    return preference_of(space_, score);
  }

  void decide_by_itself() {
    for (const std::uint32_t cell : preference()) {
      if (!out_.result.points[cell].feasible) continue;
      out_.result.recommended = static_cast<int>(cell);
      return;
    }
  }

  SearchSpace space_;
  PlanChoice choice_;
  TrialRunner& runner_;
  PlanOutcome out_;
};

TrialRunnerOptions runner_options(const Scenario& scenario, const PlanOptions& options) {
  TrialRunnerOptions out;
  out.threads = options.threads;
  out.replicates = scenario.plan->replications;
  out.reading = options.reading;
  out.progress = options.progress;
  out.interrupted = options.interrupted;
  return out;
}

}  // namespace

PlanOutcome make_plan(const JsonSource& source, const PlanOptions& options) {
  std::vector<Variant> variants = plan_variants(source);
  for (Variant& variant : variants) {
    if (options.check) options.check(variant.scenario);
  }
  const Scenario base = load_scenario(source);
  TrialRunner runner(runner_options(base, options));
  SearchSpace space =
      make_search_space(std::move(variants),
                        [&](const Scenario& s) -> const Workload& { return runner.workload(s); });
  nlohmann::json inputs = scenario_inputs(base, runner.workload(space.variants.front().scenario));
  PlanOutcome out = Planner(std::move(space), runner).plan();
  out.inputs = std::move(inputs);
  return out;
}

PlanOutcome plan_sizes(const Scenario& scenario, const Workload& workload, unsigned threads,
                       const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  check_plan(scenario);
  PlanOptions options;
  options.threads = threads;
  options.progress = progress;
  TrialRunner runner(runner_options(scenario, options));
  runner.give(scenario, workload);
  std::vector<Variant> one(1);
  one.front().scenario = scenario;
  SearchSpace space = make_search_space(
      std::move(one), [&](const Scenario&) -> const Workload& { return workload; });
  PlanOutcome out = Planner(std::move(space), runner).plan();
  out.inputs = scenario_inputs(scenario, workload);
  return out;
}

}  // namespace spillway
