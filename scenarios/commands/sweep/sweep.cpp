// `spillway sweep`: the group of verbs about campaigns of many runs.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "sim/digest.hpp"

namespace spillway {

void add_campaign_argument(CLI::App& command, std::string& folder) {
  command.add_option("CAMPAIGN", folder, "Folder made by spillway sweep plan")->required();
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

void note_settings(const CommonOptions& common, std::vector<std::string>& warnings) {
  if (common.set.empty() && common.seed.empty()) return;
  warnings.emplace_back(
      "--set and --seed change nothing here: the campaign has those of spillway sweep plan");
}

std::string failures_note(std::uint64_t failed) {
  return fmt::format(
      "{} run{} ended in an error, which is kept as {} result: status and failure "
      "in spillway sweep merge say why",
      failed, failed == 1 ? "" : "s", failed == 1 ? "its" : "their");
}

void add_sweep(CLI::App& app, CommandList& commands) {
  CLI::App* sweep =
      app.add_subcommand("sweep", "Plan, run, watch, merge and emit campaigns of many runs");
  sweep->require_subcommand(1);
  sweep->footer(
      "  spillway sweep plan exp.json -o camp\n"
      "  spillway sweep run camp -j 2\n"
      "  spillway sweep merge camp --csv results.csv\n");
  add_sweep_plan(*sweep, commands);
  add_sweep_run(*sweep, commands);
  add_sweep_worker(*sweep, commands);
  add_sweep_status(*sweep, commands);
  add_sweep_merge(*sweep, commands);
  add_sweep_emit(*sweep, commands);
}

}  // namespace spillway
