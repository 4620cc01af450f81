// `spillway sweep`: the group of verbs about campaigns of many runs.
#include <fmt/format.h>

#include <algorithm>

#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "sim/digest.hpp"

namespace spillway {

void add_campaign_argument(Verb& command, std::string& folder) {
  command.add("CAMPAIGN", folder, kinds::kFolder, "Folder made by spillway sweep plan").require();
}

nlohmann::json campaign_inputs(const Campaign& campaign) {
  nlohmann::json out = {{"scenario", {{"name", campaign.name}, {"path", campaign.path}}},
                        {"campaign", campaign.id},
                        {"settings", campaign.settings},
                        {"traces", nlohmann::json::array()}};
  for (const SweepTrace& trace : campaign.traces) {
    out["traces"].push_back({{"name", trace.name}, {"content_hash", hex16(trace.hash)}});
  }
  return out;
}

SweepCounts counts_of(const CampaignSurvey& survey) {
  return {survey.total(), survey.done(), survey.failed(), survey.total() - survey.done()};
}

std::string counts_text(std::uint64_t done, std::uint64_t total) {
  return fmt::format("{} of {} run{} done", done, total, total == 1 ? " is" : "s are");
}

std::string core_time_text(double core_s) {
  if (core_s < 60) return fmt::format("{:.3g} core-seconds", core_s);
  if (core_s < 3600) return fmt::format("{:.3g} core-minutes", core_s / 60);
  return fmt::format("{:.4g} core-hours", core_s / 3600);
}

std::vector<std::string> replicate_methods(const Campaign& campaign) {
  std::vector<std::string> out;
  for (const SweepWorkload& workload : campaign.workloads) out.push_back(workload.method);
  return out;
}

std::string replicates_text(const Campaign& campaign) {
  std::string out = fmt::format("Replicates: {}", campaign.workloads.front().method);
  if (campaign.workloads.size() > 1) {
    out += fmt::format(" (and {} more workloads)", campaign.workloads.size() - 1);
  }
  const bool recording = std::ranges::any_of(
      campaign.cells, [](const SweepCell& cell) { return !cell.recording.empty(); });
  if (recording) {
    out += "; the recording itself is run once beside them (replicate -1) and counts in no mean";
  }
  return out + ".";
}

void note_settings(const CommonOptions& common, Notes& warnings) {
  if (common.set.empty() && common.seed.empty()) return;
  warnings.push_back(study_note("options-of-plan"));
}

Note failures_note(std::uint64_t failed) {
  return study_note("failed-runs", {{"runs", failed}});
}

AddVerb add_sweep_plan, add_sweep_run, add_sweep_worker, add_sweep_status, add_sweep_merge,
    add_sweep_emit;

void add_sweep(Verb& program) {
  Verb& sweep = program.add_verb("sweep", "Plan, run, watch, merge and emit campaigns of many runs",
                                 "  spillway sweep plan exp.json -o camp\n"
                                 "  spillway sweep run camp -j 2\n"
                                 "  spillway sweep merge camp --csv results.csv\n");
  sweep.add_all({add_sweep_plan, add_sweep_run, add_sweep_worker, add_sweep_status, add_sweep_merge,
                 add_sweep_emit});
}

}  // namespace spillway
