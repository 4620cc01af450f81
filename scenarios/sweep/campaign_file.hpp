// campaign.json, and what planning and reading a campaign share.
#pragma once

#include <string>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/sweep/campaign.hpp"

namespace spillway {

/// The experiment with the settings of the campaign and the values of a cell.
JsonSource cell_source(const Campaign& campaign, const SweepCell& cell);
/// What errors about a value of sweep.vary name as its place.
std::string vary_place(const std::string& path);

/// Puts the runs in their order.
void number_runs(Campaign& campaign);
/// SHA-256 of what makes two campaigns the same: their cells and keys.
std::string identity_of(const Campaign& campaign);

/// The text of campaign.json.
std::string render_campaign(const Campaign& campaign);

}  // namespace spillway
