#include "scenarios/fidelity/validate/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/catalogue/gpu_spec.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/fidelity/validate/observed_run.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kWorst = 8;         // requests that a report lists
constexpr std::uint32_t kLeastWindows = 3;  // that a tolerance bounds

std::vector<std::string> paths_of(const ValidationCase& c, const std::vector<std::string>& files,
                                  const std::string& data) {
  std::vector<std::string> out;
  for (const std::string& file : files) {
    const auto path = find_measured(c, file, data);
    if (!path) throw InputError(Fault::kIo, {file, 0, ""}, "cannot open: no such file");
    out.push_back(*path);
  }
  return out;
}

/// What the reader of a run has to say, its files called as the case calls them: a report is not of
/// one machine.
Notes notes_of(const MeasuredRun& run, const ValidationCase& c) {
  std::vector<std::string> out = run.notes;
  for (std::string& note : out) {
    for (std::size_t i = 0; i < run.files.size(); ++i) {
      const std::size_t at = note.find(run.files[i]);
      if (at != std::string::npos) note.replace(at, run.files[i].size(), c.measured[i]);
    }
  }
  return plain_notes(out);
}

/// Only the requests that the engine completed: the others have no times to compare.
void keep_completed(MeasuredRun& run, Notes& notes) {
  const std::size_t before = run.requests.size();
  std::erase_if(run.requests, [](const MeasuredRequest& r) { return !r.completed; });
  if (run.requests.size() < before) {
    notes.push_back(
        study_note("measured-incomplete", {{"requests", before - run.requests.size()}}));
  }
}

/// The requests that a case scores, as a run of their own; what the engine reported as a whole does
/// not hold of a part.
MeasuredRun part_of(const MeasuredRun& run, const ValidationCase& c) {
  MeasuredRun out = run;
  if (c.from_request == 0 && c.first == 0) return out;
  const std::size_t all = run.requests.size();
  const std::size_t end = c.first == 0 ? all : std::min<std::size_t>(c.first, all);
  const std::size_t begin = std::min<std::size_t>(c.from_request, end);
  const auto at = [&](std::size_t i) {
    return run.requests.begin() + static_cast<std::ptrdiff_t>(i);
  };
  out.requests.assign(at(begin), at(end));
  out.metrics.clear();
  return out;
}

/// Throws where the run has none of the requests that the case scores.
void check_part(const MeasuredRun& run, const ValidationCase& c) {
  std::size_t end = run.requests.size();
  if (c.first > 0) end = std::min<std::size_t>(end, c.first);
  if (c.from_request < end) return;
  throw InputError(
      Fault::kUsage, {c.path, 0, "evaluate.from_request"},
      fmt::format("expected less than the {} requests {}, found {}", end,
                  c.first > 0 ? "that are compared first" : "of the run", c.from_request));
}

std::string family_of(const ModelSpec* model) {
  if (model == nullptr) return "";
  if (model->is_mla()) return "MLA";
  return model->experts > 0 ? "MoE" : "dense";
}

Coverage coverage_of(const Scenario& s, bool reuse) {
  Coverage out;
  out.model = s.model->spec == nullptr ? "" : std::string(s.model->spec->name);
  out.family = family_of(s.model->spec);
  out.gpu = s.gpu == nullptr ? "" : std::string(s.gpu->name);
  out.engine = s.preset;
  out.ranks = s.world();
  out.engines = s.engines();
  out.tiers = s.tier.has_value() || s.swap_space > Bytes(0);
  out.reuse = reuse;
  return out;
}

/// What a compute profile brings.
void add_profile(const std::optional<ComputeProfile>& profile, std::vector<CaseParameter>& out) {
  if (!profile) return;
  bool overhead = false;
  for (const FitScore& score : profile->scores) {
    std::string part = score.part;
    std::replace(part.begin(), part.end(), '.', '_');
    for (const auto& [name, p] : score.parameters) {
      std::string value = fmt::format("{:.4g}", p.value);
      if (p.low != p.high) value += fmt::format(" ({:.4g} to {:.4g})", p.low, p.high);
      out.push_back({fmt::format("compute.profile.{}.{}", part, name), value, ""});
      overhead |= name == "host_overhead_us";
    }
  }
  if (overhead || !profile->overhead_fitted) return;
  out.push_back(
      {"compute.profile.host_overhead_us", fmt::format("{:.4g}", profile->host_overhead_us), ""});
}

void explain(std::vector<CaseParameter>& parameters, const std::vector<CaseParameter>& given) {
  for (CaseParameter& p : parameters) {
    const CaseParameter* explained = explanation_of(p.name, given);
    if (explained != nullptr) p.from = explained->from;
  }
}

/// The scenario's parameters, those that a compute profile brings included.
std::vector<CaseParameter> parameters_of(const Scenario& s, const nlohmann::json& source,
                                         const std::vector<CaseParameter>& given) {
  std::vector<CaseParameter> out = leaves_of(source);
  add_profile(s.compute->profile, out);
  explain(out, given);
  return out;
}

/// What the simulated run would have reported, request by request.
struct Simulated {
  MeasuredRun run;
  RunResult result;
  Notes warnings;
};

/// Clients see requests leave before they arrive, and tokens after they were sent.
void add_network(const Scenario& scenario, std::vector<MeasuredRequest>& requests) {
  const double one_way_s = seconds_of(scenario.workload->network);
  for (MeasuredRequest& r : requests) {
    r.arrival_s -= one_way_s;
    for (double* at : {&r.first_token_s, &r.last_token_s}) {
      if (*at != kUnknownTime) *at += one_way_s;
    }
  }
}

Simulated simulate_measured(const Scenario& scenario, const Workload& workload,
                            const MeasuredRun& measured, double offset) {
  ObservedRun observed;
  SimulationOptions options;
  options.observers = {&observed};
  SimulationOutcome outcome = simulate(scenario, workload, options);
  Simulated out;
  out.run.requests = observed.requests();
  if (measured.facts.of_client()) add_network(scenario, out.run.requests);
  std::vector<double> instants;
  for (const MeasuredCounters& c : measured.counters) instants.push_back(c.at_s + offset);
  const double blocks = static_cast<double>(scenario.engine.usable_blocks()) *
                        static_cast<double>(scenario.engines());
  out.run.counters = observed.counters_at(instants, blocks);
  out.result = std::move(outcome.result);
  out.warnings = std::move(outcome.warnings);
  return out;
}

/// Of requests that one side did not complete nothing can be compared.
void keep_completed_in_both(MeasuredRun& measured, MeasuredRun& simulated) {
  KV_ASSERT(measured.requests.size() == simulated.requests.size(), "{} measured, {} simulated",
            measured.requests.size(), simulated.requests.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < measured.requests.size(); ++i) {
    if (!simulated.requests[i].completed) continue;
    measured.requests[kept] = measured.requests[i];
    simulated.requests[kept++] = simulated.requests[i];
  }
  measured.requests.resize(kept);
  simulated.requests.resize(kept);
}

std::vector<RepeatSpread> spread_of(const CaseResult& result,
                                    const std::vector<std::map<std::string, double>>& runs) {
  std::vector<RepeatSpread> out;
  for (const MetricError& metric : result.metrics) {
    RepeatSpread spread{metric.name, 1, metric.measured, metric.measured, false};
    for (const auto& run : runs) {
      const auto at = run.find(metric.name);
      if (at == run.end()) continue;
      ++spread.runs;
      spread.least = std::min(spread.least, at->second);
      spread.most = std::max(spread.most, at->second);
    }
    spread.within = metric.simulated >= spread.least && metric.simulated <= spread.most;
    if (spread.runs > 1) out.push_back(spread);
  }
  return out;
}

void compare_requests(const MeasuredRun& measured, const MeasuredRun& simulated,
                      CaseResult& result) {
  result.request_errors = request_errors(measured.requests, simulated.requests);
  result.worst = worst_requests(measured.requests, simulated.requests, kWorst);
  for (WorstRequest& worst : result.worst) worst.number += result.input.from_request;
}

CaseResult validate_points(const ValidationCase& c, const ValidationOptions& options) {
  CaseResult result;
  result.input = c;
  const JsonSource source = scenario_source(c, options.set);
  const Scenario scenario = load_scenario(source);
  result.serving = validate_serving(paths_of(c, c.measured, options.data).front(), source,
                                    c.backend, c.precision);
  result.coverage = coverage_of(scenario, false);
  result.coverage.ranks = result.serving->most_ranks;
  result.parameters = parameters_of(scenario, source.root(), c.parameters);
  add_profile(result.serving->profile, result.parameters);
  explain(result.parameters, c.parameters);
  result.unexplained = unexplained(result.parameters, c.parameters);
  result.requests = result.scored = static_cast<std::uint32_t>(result.serving->points.size());
  result.notes = plain_notes(result.serving->profile.warnings);
  return result;
}

CaseResult validate_pairs_case(const ValidationCase& c, const ValidationOptions& options) {
  CaseResult result;
  result.input = c;
  const JsonSource source = scenario_source(c, options.set);
  result.pairs = validate_pairs(paths_of(c, c.measured, options.data).front(), c.release, source);
  const Scenario scenario = load_scenario(source);
  result.coverage = coverage_of(scenario, true);
  result.coverage.tiers = true;
  result.parameters = parameters_of(scenario, source.root(), c.parameters);
  result.unexplained = unexplained(result.parameters, c.parameters);
  result.requests = result.scored = static_cast<std::uint32_t>(result.pairs->cells.size());
  return result;
}

}  // namespace

bool CheckedFigure::exceeds(const std::optional<double>& limit) const {
  return limit && std::fabs(error_percent) > *limit;
}

std::vector<CheckedFigure> CaseResult::checked() const {
  std::vector<CheckedFigure> out;
  const auto add = [&](const std::string& name, double error) {
    const auto tolerance = limit_of(input.tolerance, name);
    const auto bar = limit_of(input.bar, name);
    if (tolerance || bar) out.push_back({name, error, tolerance, bar});
  };
  for (const MetricError& metric : metrics) add(metric.name, metric.error_percent());
  if (counters) {
    for (const CounterError& c : counters->counters) add(c.counter, c.percent_of_peak);
  }
  for (const StepBucket& step : steps) {
    add(step.name(), step.error_percent());
    // Of fewer windows the engines that few requests happen to be on decide.
    if (step.windows < kLeastWindows && !out.empty() && out.back().name == step.name()) {
      out.back().tolerance.reset();
    }
  }
  if (pairs) {
    for (const PairsFigure& figure : pairs->figures()) add(figure.name, figure.percent);
  }
  if (serving) {
    for (const ServingScore& score : serving->scores) add(score.name, score.mape);
  }
  return out;
}

std::vector<std::string> CaseResult::idle_tolerances() const {
  std::vector<std::string> out;
  const std::vector<CheckedFigure> figures = checked();
  for (const auto& tolerance : input.tolerance) {
    const auto is_bound = [&tolerance](const CheckedFigure& f) {
      return limit_of({tolerance}, f.name).has_value();
    };
    const bool bounds = std::any_of(figures.begin(), figures.end(), is_bound);
    if (!bounds) out.push_back(tolerance.first);
  }
  return out;
}

std::optional<std::string> find_measured(const ValidationCase& c, const std::string& file,
                                         const std::string& data) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places = {fs::path(c.path).parent_path()};
  if (!data.empty()) places.emplace_back(data);
  for (const fs::path& place : places) {
    std::error_code none;
    if (fs::is_regular_file(place / file, none)) return (place / file).string();
  }
  return {};
}

std::optional<std::string> missing_file(const ValidationCase& c, const std::string& data) {
  std::vector<std::string> files = c.measured;
  for (const auto& repeat : c.repeats) files.insert(files.end(), repeat.begin(), repeat.end());
  for (const std::string& file : files) {
    if (!find_measured(c, file, data)) return file;
  }
  return {};
}

std::vector<CaseParameter> case_parameters(const ValidationCase& c) {
  const JsonSource source = scenario_source(c, {});
  return parameters_of(load_scenario(source), source.root(), c.parameters);
}

CaseResult validate_case(const ValidationCase& given, const ValidationOptions& options) {
  if (given.kind == CaseKind::kPoints) return validate_points(given, options);
  if (given.kind == CaseKind::kPairs) return validate_pairs_case(given, options);
  ValidationCase c = given;
  if (options.first > 0) c.first = options.first;
  CaseResult result;
  result.input = c;
  MeasuredRun measured = load_measured(paths_of(c, c.measured, options.data));
  const Scenario scenario = load_scenario(scenario_source(c, options.set, measured.facts));
  result.notes = notes_of(measured, c);
  keep_completed(measured, result.notes);
  const bool logged = !measured.requests.empty();
  if (!logged && measured.metrics.empty()) {
    throw InputError(Fault::kTrace, {c.measured.front(), 0, ""},
                     "expected requests or metrics of a measured run, found neither");
  }
  if (logged) check_part(measured, c);
  const Workload workload =
      logged ? workload_of(measured, scenario.engine.block_tokens) : open_workload(scenario, {});
  const double offset = clock_offset(measured);
  Simulated simulated = simulate_measured(scenario, workload, measured, offset);

  result.preemptions = simulated.result.preemptions;
  result.recomputed_tokens = simulated.result.recomputed_tokens;
  result.prompt_tokens = simulated.result.input_tokens;
  result.requests = static_cast<std::uint32_t>(workload.size());
  result.coverage = coverage_of(scenario, !logged);
  result.parameters = parameters_of(scenario, scenario_source(c, options.set).root(), c.parameters);
  result.unexplained = unexplained(result.parameters, c.parameters);
  const double count = std::max(1.0, static_cast<double>(workload.size()));
  const double preempted = static_cast<double>(result.preemptions) / count;
  const RegimeFacts facts{scenario.engine.max_num_seqs, preempted};
  result.regime = decide_regime(measured, facts);
  if (!measured.counters.empty()) {
    result.counters = counter_errors(measured.counters, simulated.run.counters);
    result.counters->clock_offset_s = offset;
    result.steps = step_buckets(measured, simulated.run, offset);
  }
  append(result.notes, simulated.warnings);

  MeasuredRun measured_part = measured;
  if (logged) {
    measured_part = part_of(measured, c);
    simulated.run = part_of(simulated.run, c);
    const std::size_t before = measured_part.requests.size();
    keep_completed_in_both(measured_part, simulated.run);
    if (measured_part.requests.size() < before) {
      result.notes.push_back(study_note("simulated-incomplete",
                                        {{"requests", before - measured_part.requests.size()}}));
    }
    compare_requests(measured_part, simulated.run, result);
    result.regimes =
        regime_errors(measured, facts, measured_part.requests, simulated.run.requests, offset);
  }
  result.scored = static_cast<std::uint32_t>(measured_part.requests.size());
  result.metrics = metric_errors(metrics_of(measured_part), metrics_of(simulated.run), c.metrics);
  std::vector<std::map<std::string, double>> repeats;
  for (const auto& files : c.repeats) {
    MeasuredRun again = load_measured(paths_of(c, files, options.data));
    repeats.push_back(metrics_of(part_of(again, c)));
  }
  result.repeats = spread_of(result, repeats);
  if (options.halves && logged) result.halves = validate_halves(measured, scenario, c.metrics);
  return result;
}

}  // namespace spillway
