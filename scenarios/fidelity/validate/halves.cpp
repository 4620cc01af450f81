#include "scenarios/fidelity/validate/halves.hpp"

#include <algorithm>
#include <limits>

#include "scenarios/fidelity/fit/log_fit.hpp"
#include "scenarios/fidelity/validate/observed_run.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"

namespace spillway {

namespace {

/// Half of the time between the first request that ran and the last token.
double middle_of(const MeasuredRun& run) {
  double begin = std::numeric_limits<double>::max();
  double end = 0;
  for (const MeasuredRequest& r : run.requests) {
    begin = std::min(begin, r.scheduled_s >= 0 ? r.scheduled_s : r.first_token_s);
    end = std::max(end, r.last_token_s);
  }
  return (begin + end) / 2;
}

/// The scenario's kernels where tables told them; nothing where a log did, or nobody.
std::optional<ComputeProfile> kernels_of(const Scenario& scenario) {
  const std::optional<ComputeProfile>& profile = scenario.compute->profile;
  if (!profile || profile->range.known()) return {};
  const bool from_log =
      std::any_of(profile->scores.begin(), profile->scores.end(), [](const FitScore& score) {
        return score.part.starts_with("requests/") || score.part == "steps";
      });
  return from_log ? std::nullopt : profile;
}

Scenario with_profile(const Scenario& scenario, const ComputeProfile& profile) {
  Scenario out = scenario;
  ComputeChoice& compute = *out.compute;
  compute.kind = ComputeChoice::Kind::kProfile;
  compute.profile = profile;
  compute.host_overhead_us = profile.host_overhead_us;
  compute.eager_overhead_us = profile.eager_overhead_us;
  compute.sequence_us = profile.sequence_us;
  return out;
}

bool is_latency(const MetricError& metric) {
  return metric.name.ends_with("_ttft_ms") || metric.name.ends_with("_tpot_ms") ||
         metric.name.ends_with("_e2el_ms");
}

/// Errors over the requests whose measured first token came in that half.
void score_half(const MeasuredRun& run, const Scenario& scenario, double middle, bool second,
                const std::vector<std::string>& names, HalfResult& out) {
  ObservedRun observed;
  SimulationOptions options;
  options.observers = {&observed};
  simulate(scenario, workload_of(run, scenario.engine.block_tokens), options);
  const std::vector<MeasuredRequest> all = observed.requests();
  MeasuredRun measured;
  MeasuredRun simulated;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const MeasuredRequest& r = run.requests[i];
    if ((r.first_token_s >= middle) != second || !all[i].completed) continue;
    measured.requests.push_back(r);
    simulated.requests.push_back(all[i]);
  }
  out.scored = static_cast<std::uint32_t>(measured.requests.size());
  out.metrics = metric_errors(metrics_of(measured), metrics_of(simulated), names);
  std::erase_if(out.metrics, [](const MetricError& metric) { return !is_latency(metric); });
}

}  // namespace

std::vector<HalfResult> validate_halves(const MeasuredRun& run, const Scenario& scenario,
                                        const std::vector<std::string>& names) {
  const double middle = middle_of(run);
  LogFitOptions options;
  options.kernels = kernels_of(scenario);
  std::vector<HalfResult> out;
  for (const bool second : {false, true}) {
    options.within = TimeSpan{0, middle};
    if (second) options.within = TimeSpan{middle, std::numeric_limits<double>::max()};
    const FitResult fit = fit_log(run, scenario, options);
    HalfResult half;
    half.fitted = second ? "second" : "first";
    half.parameters = log_score(fit).parameters;
    score_half(run, with_profile(scenario, fit.profile), middle, !second, names, half);
    out.push_back(std::move(half));
  }
  return out;
}

}  // namespace spillway
