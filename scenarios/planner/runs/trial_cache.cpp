#include "scenarios/planner/runs/trial_cache.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/notes/note_fields.hpp"
#include "reports/run/run_json.hpp"

namespace spillway {

namespace {

using nlohmann::json;

std::string key_of(const Scenario& scenario, const TrialCache::Question& question, bool cut) {
  const std::uint64_t traces[] = {question.trace};
  RunIdentity identity;
  // Raise the number of what-ifs whenever a change of the same name does something else.
  std::string form = question.change.empty()
                         ? std::string(cut ? "plan-cut/3" : "plan-trial/3")
                         : (cut ? "what-if-cut/3 " : "what-if/3 ") + question.change;
  if (question.length > 1) form += fmt::format(" length {}", question.length);
  identity.form = form;
  if (question.trace != 0) identity.traces = traces;
  identity.replicate = question.replicate;
  return run_key(scenario, identity);
}

/// Runs of replicates are judged at once; of the workload itself, all is kept.
json trial_json(const Trial& trial, bool with_run) {
  json targets = json::array();
  for (const TargetSample& t : trial.targets) {
    targets.push_back({t.x, t.limit, t.judged, t.value, t.ladder});
  }
  json out = {{"targets", targets},
              {"attainment", trial.attainment},
              {"met", trial.met},
              {"cut", trial.cut},
              {"standstill", trial.standstill},
              {"cold_limited", trial.cold_limited},
              {"digest", trial.digest},
              {"not_admitted", trial.not_admitted},
              {"work", trial.work},
              {"warnings", trial.warnings}};
  if (with_run) {
    out["run"] = to_json(trial.run);
    out["run"].erase("sim");
  }
  return out;
}

Trial trial_from(const json& j) {
  Trial out;
  for (const json& t : j.at("targets")) {
    out.targets.push_back({t.at(0), t.at(1), t.at(2), t.at(3), t.at(4).get<MissLadder>()});
  }
  out.attainment = j.at("attainment");
  out.met = j.at("met");
  out.cut = j.at("cut");
  out.standstill = j.at("standstill");
  out.cold_limited = j.at("cold_limited");
  out.digest = j.at("digest");
  out.not_admitted = j.at("not_admitted");
  out.work = j.at("work");
  out.warnings = j.at("warnings").get<Notes>();
  if (j.contains("run")) out.run = run_from_json(j["run"]);
  return out;
}

}  // namespace

TrialCache::TrialCache(const std::string& folder) : folder_(folder), store_(folder, "plan") {}

std::optional<Trial> TrialCache::find(const Scenario& scenario, const Question& question) const {
  for (const bool cut : {false, true}) {
    if (cut && !question.may_cut) continue;
    const auto known = store_.find(key_of(scenario, question, cut));
    if (!known) continue;
    try {
      return trial_from(*known);
    } catch (const nlohmann::json::exception& error) {
      throw InputError(Fault::kUsage, {folder_, 0, ""},
                       fmt::format("keeps a run that this program did not write ({}); delete the "
                                   "folder, and its runs are made again",
                                   error.what()));
    }
  }
  return std::nullopt;
}

void TrialCache::keep(const Scenario& scenario, const Question& question, const Trial& trial) {
  store_.put(key_of(scenario, question, trial.cut), trial_json(trial, !question.replicate));
}

}  // namespace spillway
