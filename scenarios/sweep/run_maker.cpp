#include "scenarios/sweep/run_maker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "reports/document.hpp"
#include "reports/notes/note_fields.hpp"
#include "reports/run/run_json.hpp"
#include "scenarios/experiment/run_judge.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kFailure = "{\"failure\":";

/// The number of a run's replicate among Replicates.
std::uint32_t number_of(const SweepRun& run, const Replicates& replicates) {
  return run.replicate == kRecordingItself ? replicates.recording() : run.replicate;
}

json payload_of(const RunResult& result) {
  json results = to_json(result);
  json out = {{"digest", digest_of(results)}, {"metrics", json::object()}};
  results.erase("sim");  // wall time
  for (const RunMetric& metric : run_metrics()) {
    out["metrics"][std::string(metric.name)] = metric.value(result);
  }
  out["results"] = std::move(results);
  return out;
}

}  // namespace

std::optional<SegmentEntry> RunMaker::make(const SweepRun& run, const std::function<bool()>& stop) {
  const Clock::time_point begin = Clock::now();
  const std::string& key = campaign_.key(run);
  if (campaign_.key_now(campaign_.scenario(run.cell), run) != key) {
    throw InputError(Fault::kUsage, {campaign_.path, 0, ""},
                     "a file that it names has changed since the campaign was planned, or this "
                     "program computes otherwise than the one that planned it; plan a campaign of "
                     "its own in another folder");
  }
  Scenario scenario = campaign_.runnable(run.cell);
  const Workload& load = workload(scenario, run);
  if (campaign_.replications > 1) {
    scenario.seed = scenario.workload->arrival.seed =
        replicates_->seed(number_of(run, *replicates_));
  }
  SimulationOptions options;
  options.stop = asked_seldom(stop);
  std::optional<RunJudge> judge;  // of the whole run, as `spillway run` reports it
  json payload;
  json aside = json::object();
  try {
    if (!scenario.slo.empty()) {
      judge.emplace(scenario, load);
      options.observers.push_back(&*judge);
    }
    const SimulationOutcome outcome = simulate(scenario, load, options);
    if (outcome.stopped) return std::nullopt;
    payload = payload_of(outcome.result);
    if (judge) {
      const RunVerdict verdict = judge->judge(outcome.result, Time{});
      payload["slo"] = {{"met", verdict.met}, {"attainment", verdict.attainment}};
    }
    if (!outcome.warnings.empty()) aside["warnings"] = outcome.warnings;
  } catch (const InputError& error) {
    if (error.fault() == Fault::kIo) throw;
    // Without the place: a path is not the same on every machine.
    payload["failure"] = {{"code", static_cast<int>(error.fault())},
                          {"field", error.where().field},
                          {"message", error.message()}};
  }
  aside["took_s"] = std::chrono::duration<double>(Clock::now() - begin).count();
  return SegmentEntry{key, payload.dump(), aside.dump()};
}

const Workload& RunMaker::workload(const Scenario& scenario, const SweepRun& run) {
  const std::uint32_t group = campaign_.cells[run.cell].group;
  // A replicate that was dropped is not made again by the same object.
  if (replicates_ && (group != group_ || number_of(run, *replicates_) < replicate_)) {
    replicates_.reset();
  }
  if (!replicates_) {
    replicates_ = std::make_unique<Replicates>(scenario, campaign_.replications, 1, ReadProgress());
    group_ = group;
    replicate_.reset();
  }
  const std::uint32_t number = number_of(run, *replicates_);
  if (replicate_ && *replicate_ != number) replicates_->done(*replicate_);
  replicate_ = number;
  return replicates_->get(number);
}

bool is_failure(std::string_view payload) {
  return payload.starts_with(kFailure);
}

std::string missing_member(const json& payload) {
  std::string lacks;
  const auto need = [&](const char* pointer, auto is_kind) {
    const json::json_pointer at(pointer);
    if (lacks.empty() && !(payload.contains(at) && is_kind(payload.at(at)))) lacks = pointer;
  };
  const auto number = [](const json& j) { return j.is_number(); };
  const auto text = [](const json& j) { return j.is_string(); };
  if (payload.contains("failure")) {
    need("/failure/message", text);
    return lacks;
  }
  need("/digest", text);
  for (const RunMetric& metric : run_metrics()) {
    need(fmt::format("/metrics/{}", metric.name).c_str(), number);
  }
  for (const char* count :
       {"/results/requests", "/results/completed", "/results/failed", "/results/duration_s"}) {
    need(count, number);
  }
  need("/results/prompt_tokens_by_source",
       [&](const json& j) { return j.is_object() && std::all_of(j.begin(), j.end(), number); });
  need("/results/slo", [&](const json& j) {
    return j.is_array() && std::all_of(j.begin(), j.end(), [&](const json& target) {
             return target.is_object() && target.contains("name") && text(target["name"]) &&
                    target.contains("bound") && target.contains("target") &&
                    number(target["target"]) && target.contains("passed") &&
                    target["passed"].is_boolean();
           });
  });
  if (payload.contains("slo")) {
    need("/slo/met", [](const json& j) { return j.is_boolean(); });
    need("/slo/attainment", number);
  }
  return lacks;
}

double seconds_taken(std::string_view aside) {
  const json parsed = json::parse(aside, nullptr, false);
  return parsed.is_object() ? parsed.value("took_s", 0.0) : 0;
}

}  // namespace spillway
