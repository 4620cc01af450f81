// `spillway run`: simulates one scenario with the clock.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "reports/notes/run_notes.hpp"
#include "reports/ops/openmetrics.hpp"
#include "reports/provenance.hpp"
#include "reports/renderers/csv.hpp"
#include "reports/run/run_json.hpp"
#include "reports/run/run_report.hpp"
#include "reports/run/tool_names.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/gate.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/strict.hpp"
#include "scenarios/experiment/doubts/input_doubts.hpp"
#include "scenarios/run/perfetto/trace_log.hpp"
#include "scenarios/run/pool_doubt.hpp"
#include "scenarios/run/request_log.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/run/transfer_log.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/numbers.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

struct RunVerbOptions {
  ScenarioInput input;
  std::vector<std::string> outputs;
  std::string trace_window;
  std::string trace_cap;
  std::string metrics_start;
  bool gate = false;
  bool strict = false;
  bool details = false;
  CommonOptions common;
};

constexpr const char* kTraceWindow = "60s";

/// Beside the formats of its result: what a result does not keep.
std::vector<std::string_view> own_outputs() {
  return {"requests", "transfers", "perfetto", "openmetrics"};
}

/// The observers behind a run's own outputs, each where it is asked for, and their files.
class Logs {
 public:
  Logs(const std::vector<Output>& outputs, const TraceLimits& limits, std::int64_t metrics_start,
       const Scenario& scenario, const Workload& workload, SimulationOptions& simulation)
      : scenario_(scenario), metrics_start_(metrics_start) {
    const auto asked = [&](std::string_view kind) {
      return std::any_of(outputs.begin(), outputs.end(),
                         [&](const Output& o) { return o.kind == kind; });
    };
    if (asked("requests")) simulation.observers.push_back(&requests_.emplace(workload.size()));
    if (asked("transfers")) simulation.observers.push_back(&transfers_.emplace());
    if (asked("openmetrics")) simulation.observers.push_back(&metrics_.emplace());
    if (!asked("perfetto")) return;
    trace_.emplace(limits, scenario.pool_block_bytes().count());
    simulation.observers.push_back(&*trace_);
    simulation.stages = &*trace_;
  }

  /// False: it is an output of another kind.
  bool write(const Output& output, const RunResult& result, const Provenance& provenance,
             const CommonOptions& common) {
    if (output.kind == "requests") {
      requests_->write(output.path, result.tiers);
    } else if (output.kind == "transfers") {
      transfers_->write(output.path, result.links);
    } else if (output.kind == "perfetto") {
      print_notes(plain_notes(trace_->write(output.path, result)), common);
    } else if (output.kind == "openmetrics") {
      write_metrics(output.path, result, provenance);
    } else {
      return false;
    }
    return true;
  }

 private:
  void write_metrics(const std::string& path, const RunResult& result,
                     const Provenance& provenance) const {
    const OpsFigures figures = figures_of(result, provenance);
    const ModelSpec* spec = scenario_.model->spec;
    const std::string model = spec != nullptr ? std::string(spec->name) : std::string();
    std::ostringstream text;
    write_openmetrics(metric_histories(figures, *metrics_, scenario_.engine.block_tokens),
                      {model, scenario_.name}, metrics_start_, text);
    write_file(path, text.str());
  }

  const Scenario& scenario_;
  std::int64_t metrics_start_;
  std::optional<RequestLog> requests_;
  std::optional<TransferLog> transfers_;
  std::optional<TraceLog> trace_;
  std::optional<MetricLog> metrics_;
};

/// An option of one output, where that output is not `asked` for.
void refuse_alone(const char* option, const std::string& value, bool asked, const char* output) {
  if (asked || value.empty()) return;
  throw InputError(Fault::kUsage, {option, 0, ""},
                   fmt::format("is for --output kind={},path=FILE", output));
}

/// Unix time of the run's beginning. Not now: equal runs give equal files.
std::int64_t metrics_start(const RunVerbOptions& options, bool asked) {
  refuse_alone("--metrics-start", options.metrics_start, asked, "openmetrics");
  if (options.metrics_start.empty()) return 0;
  const auto seconds = parse_whole<std::int64_t>(options.metrics_start);
  constexpr std::int64_t kMost = 253'402'300'799;  // the year 9999
  if (seconds && *seconds >= 0 && *seconds <= kMost) return *seconds;
  throw InputError(Fault::kUsage, {"--metrics-start", 0, ""},
                   fmt::format("expected seconds of Unix time as `date +%s` prints them, found "
                               "\"{}\"",
                               options.metrics_start.substr(0, 64)));
}

/// What of a run goes into a Perfetto trace. `asked`: there is to be one.
TraceLimits trace_limits(const RunVerbOptions& options, bool asked) {
  TraceLimits out;
  refuse_alone("--trace-window", options.trace_window, asked, "perfetto");
  refuse_alone("--trace-cap", options.trace_cap, asked, "perfetto");
  parse_trace_window(options.trace_window.empty() ? kTraceWindow : options.trace_window,
                     {"--trace-window", 0, ""}, out);
  if (options.trace_cap.empty()) return out;
  const SourceRef where{"--trace-cap", 0, ""};
  const std::int64_t bytes = parse_bytes(options.trace_cap, where).count();
  if (bytes < static_cast<std::int64_t>(kLeastTraceBytes)) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected at least 64KiB, found \"{}\"", options.trace_cap));
  }
  out.bytes = static_cast<std::uint64_t>(bytes);
  return out;
}

/// One screen of the result, unless all of it is asked for.
Told told_of(const RunVerbOptions& options, const RunResult& run, const Provenance& p) {
  if (options.details) {
    return {run_summary(run, p.scenario, benchmark_tool_of(p.inputs)), p.warnings};
  }
  return {run_glance(run, p.scenario), p.warnings, glance_room()};
}

int run(const RunVerbOptions& options) {
  const CommonOptions& common = options.common;
  const std::vector<Output> outputs = parse_outputs(options.outputs, "run", own_outputs(), common);
  const auto output_of = [&](std::string_view kind) {
    return std::find_if(outputs.begin(), outputs.end(),
                        [&](const Output& o) { return o.kind == kind; });
  };
  const auto asked = [&](std::string_view kind) { return output_of(kind) != outputs.end(); };
  const TraceLimits limits = trace_limits(options, asked("perfetto"));
  const std::int64_t start = metrics_start(options, asked("openmetrics"));
  check_writable(common, paths_of(outputs));
  Notes assumed;
  const JsonSource source = open_scenario_source(options.input, common, assumed);
  Scenario scenario = load_scenario(source);
  check_hardware_here(scenario, options.strict);
  std::vector<std::string> inputs = options.input.paths();
  inputs.push_back(scenario.workload->trace);
  refuse_own_inputs(common, inputs, paths_of(outputs));

  Progress reading("reading", "MB", !common.quiet);
  const Workload workload = open_workload(scenario, reading.reader());
  reading.finish();

  Progress simulating("simulating", "requests", !common.quiet);
  SimulationOptions simulation;
  Logs logs(outputs, limits, start, scenario, workload, simulation);
  simulation.progress = [&](std::uint64_t done, std::uint64_t total) {
    simulating.update(done, total);
  };
  SimulationOutcome outcome = simulate(scenario, workload, simulation);
  simulating.finish();

  Document document;
  document.kind = "run";
  document.inputs = scenario_inputs(scenario, workload);
  // `calibrate --replay` finds the schedule by the result.
  if (asked("transfers")) document.inputs["transfers"] = output_of("transfers")->path;
  document.results = to_json(outcome.result);
  document.warnings = std::move(assumed);
  for (Note& doubt : input_doubts(scenario, workload)) {
    // A run claims nothing about a percentile; a plan does.
    if (doubt.code != kFewForPercentile) document.warnings.push_back(std::move(doubt));
  }
  append(document.warnings, outcome.warnings);
  if (auto note = pool_doubt(scenario, workload, outcome.result)) {
    document.warnings.push_back(*std::move(note));
  }
  if (auto note = concurrency_note(scenario)) document.warnings.push_back(*std::move(note));
  const Provenance provenance = provenance_of(document, scenario.name);
  write_results(
      document, run_report(outcome.result, provenance),
      told_of(options, outcome.result, provenance), outputs, common,
      [&](const Output& output) { return logs.write(output, outcome.result, provenance, common); },
      {"run", &outcome.result, nullptr, &provenance});
  const auto& slo = outcome.result.slo;
  const bool missed =
      std::any_of(slo.begin(), slo.end(), [](const SloResult& s) { return !s.passed; });
  const std::uint64_t incomplete = outcome.result.requests - outcome.result.completed;
  if (!options.gate || (!missed && incomplete == 0)) return 0;
  if (incomplete > 0) {
    print_notes({run_note("gate-incomplete", {{"requests", incomplete},
                                              {"requests_in_all", outcome.result.requests}})},
                common);
  }
  return kGateFailed;
}

}  // namespace

void add_run(Verb& program) {
  auto [command, options] = add_command<RunVerbOptions>(
      program, "run", "Simulate one scenario with the clock",
      "  spillway run scenarios/library/quickstart.json\n"
      "  spillway run s.json --set tiers.0.capacity=256GiB --out results\n"
      "  spillway run --from-engine-config serve.sh lmcache.yaml --trace mine.jsonl.gz\n"
      "  spillway run s.json --json - --output kind=requests,path=rows.csv\n"
      "  spillway run s.json --output kind=perfetto,path=trace.json --trace-window "
      "120s+60s\n",
      run);
  options.common.takes_set = true;
  add_scenario_input(command, options.input, "Scenario file (JSON, // comments allowed)");
  add_output(command, options.outputs, "run", own_outputs());
  command.add("--trace-window", options.trace_window, kinds::kWindow,
              "Simulated time in a Perfetto trace: LENGTH, or START+LENGTH as in 120s+60s "
              "(default: 60s)");
  command.add("--trace-cap", options.trace_cap, kinds::kSize,
              "Most bytes of a Perfetto trace, e.g. 50MB (default: 200MB)");
  command.add("--metrics-start", options.metrics_start, kinds::kSeconds,
              "Unix time at which the metrics of kind=openmetrics begin (default: 0)");
  add_details(command, options.details);
  add_strict(command, options.strict);
  command.add_flag("--gate", options.gate,
                   "Exit with 99 when an SLO is missed or a request does not complete");
}

}  // namespace spillway
