// What a campaign will cost, from its smallest and its largest cell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "scenarios/sweep/campaign.hpp"
#include "scenarios/sweep/survey.hpp"

namespace spillway {

struct SweepEstimate {
  std::string smallest;  ///< names of the cells that were run; empty: enough had been run before
  std::string largest;
  double run_s = 0;   ///< of one run, on one core
  double core_s = 0;  ///< of all that is not done
};

/// Runs the cells with the least and the most below HBM once, unless enough is done already, and
/// keeps these runs: they are not made again. `survey` is looked at before and after.
SweepEstimate estimate(const Campaign& campaign, CampaignSurvey& survey,
                       const std::function<bool()>& stop);

}  // namespace spillway
