// The verbs of `spillway sweep`, one file each, and what they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/commands/command.hpp"
#include "scenarios/commands/sweep/sweep_results.hpp"
#include "scenarios/sweep/campaign.hpp"
#include "scenarios/sweep/survey.hpp"

namespace spillway {

/// Something of the campaign is missing or failed.
inline constexpr int kPartial = 6;
/// Cells of a table on the terminal.
inline constexpr std::size_t kMostCellsShown = 40;

/// Takes the campaign, the folder that `sweep plan` made.
void add_campaign_argument(Verb& command, std::string& folder);
/// "inputs" of every verb about a campaign.
nlohmann::json campaign_inputs(const Campaign& campaign);
SweepCounts counts_of(const CampaignSurvey& survey);
/// "87 of 100 runs are done".
std::string counts_text(std::uint64_t done, std::uint64_t total);

/// "12.3 core-seconds", "4.56 core-minutes", "7.89 core-hours".
std::string core_time_text(double core_s);

/// How replicates come about, by group of cells that have the same.
std::vector<std::string> replicate_methods(const Campaign& campaign);
/// The same for people, with where the recording itself is.
std::string replicates_text(const Campaign& campaign);

/// A campaign was planned with its own settings: what --set and --seed say now is not taken.
void note_settings(const CommonOptions& common, Notes& warnings);
/// What of `campaign` ended in an error, by example.
Note failures_note(std::uint64_t failed);

}  // namespace spillway
