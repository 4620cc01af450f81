#include "scenarios/experiment/trial.hpp"

#include <algorithm>
#include <optional>

#include "reports/document.hpp"
#include "reports/run/run_json.hpp"
#include "scenarios/experiment/decision_watch.hpp"
#include "scenarios/experiment/run_judge.hpp"
#include "scenarios/experiment/warm_up.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/reasons.hpp"

namespace spillway {

Trial run_trial(const Scenario& scenario, const Workload& workload, const TrialOptions& options) {
  WarmUpWatch warm(scenario);
  RunJudge judge(scenario, workload);
  const std::optional<double>& given_s = scenario.workload->replication.warmup_s;
  const bool search = options.find_warm_up && !given_s;
  std::optional<DecisionWatch> decision;
  SimulationOptions simulation = options.simulation;
  simulation.observers.push_back(&judge);
  if (options.find_warm_up) simulation.observers.push_back(&warm);
  if (options.stop_when_decided) {
    const Time from = options.find_warm_up && given_s ? warm_up_given(*given_s) : Time{};
    decision.emplace(scenario, workload, from, search ? &warm : nullptr);
    simulation.observers.push_back(&*decision);
    const auto stop = simulation.stop;
    simulation.stop = [&decision, stop] { return decision->decided() || (stop && stop()); };
  }
  SimulationOutcome outcome = simulate(scenario, workload, simulation);
  if (outcome.stopped && !(decision && decision->decided())) throw OutOfTime();
  Trial out;
  out.warnings = std::move(outcome.warnings);
  out.standstill = std::move(outcome.standstill);
  if (outcome.stopped) {
    out.cut = true;
    out.targets = decision->bounds();
    out.attainment = decision->attainment();
  } else {
    Time from{};
    if (options.find_warm_up) {
      const WarmUp found = find_warm_up(warm);
      from = found.end;
      if (search) {
        from = std::min(from, judge.latest_warm_up());
        if (options.least_warm_up > 0) {
          from = std::max(from, judge.arrival_at(options.least_warm_up));
        }
      }
      out.cold_limited = found.cold_limited;
      out.warm_up = found.note;
    }
    RunVerdict verdict = judge.judge(outcome.result, from);
    out.targets = std::move(verdict.targets);
    out.attainment = verdict.attainment;
    out.met = verdict.met;
    std::move(verdict.notes.begin(), verdict.notes.end(), std::back_inserter(out.warnings));
  }
  out.digest = digest_of(to_json(outcome.result));
  out.not_admitted = not_admitted_share(outcome.result);
  out.work = std::max(outcome.result.engine_steps, outcome.result.output_tokens);
  out.run = std::move(outcome.result);
  return out;
}

}  // namespace spillway
