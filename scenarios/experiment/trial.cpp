#include "scenarios/experiment/trial.hpp"

#include <algorithm>

#include "reports/document.hpp"
#include "reports/run_json.hpp"
#include "scenarios/run_metrics.hpp"

namespace spillway {

namespace {

/// Whether every target is met, and every request done. Rejected requests count as done where a
/// target bounds their share.
bool meets(const RunResult& run) {
  const auto bounds_rejected = [](const SloResult& s) { return s.name == kRejectedShare; };
  const bool may_reject = std::any_of(run.slo.begin(), run.slo.end(), bounds_rejected);
  return std::all_of(run.slo.begin(), run.slo.end(), [](const SloResult& s) { return s.passed; }) &&
         run.completed + (may_reject ? run.rejected : 0) == run.requests;
}

}  // namespace

Trial run_trial(const Scenario& scenario, const Workload& workload, const TrialOptions& options) {
  SimulationOutcome outcome = simulate(scenario, workload, options.simulation);
  Trial out;
  for (const SloResult& slo : outcome.result.slo) {
    out.targets.push_back({slo.value, slo.target, outcome.result.requests, slo.value});
  }
  out.met = meets(outcome.result);
  out.digest = digest_of(to_json(outcome.result));
  out.run = std::move(outcome.result);
  out.warnings = std::move(outcome.warnings);
  return out;
}

}  // namespace spillway
