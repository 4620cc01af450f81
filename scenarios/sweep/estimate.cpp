#include "scenarios/sweep/estimate.hpp"

#include <limits>

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/sweep/run_maker.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kEnough = 8;  ///< runs that tell more than two do

/// What the first tier below HBM holds, in blocks.
std::uint64_t size_of(const Scenario& scenario) {
  if (!scenario.tier) return 0;
  if (scenario.tier->capacity.kind == Capacity::Kind::kUnbounded) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return scenario.tier_blocks(scenario.tier->capacity);
}

/// The number of a cell's first run.
std::uint64_t first_run(const Campaign& campaign, std::uint32_t cell) {
  std::uint64_t i = 0;
  while (campaign.runs[i].cell != cell || campaign.runs[i].replicate != 0) ++i;
  return i;
}

}  // namespace

SweepEstimate estimate(const Campaign& campaign, CampaignSurvey& survey,
                       const std::function<bool()>& stop) {
  SweepEstimate out;
  survey.look();
  if (survey.done() < std::min(kEnough, survey.total())) {
    std::uint32_t smallest = 0;
    std::uint32_t largest = 0;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t most = 0;
    for (std::uint32_t cell = 0; cell < campaign.cells.size(); ++cell) {
      const std::uint64_t size = size_of(campaign.scenario(cell));
      if (size < least) {
        least = size;
        smallest = cell;
      }
      if (size >= most) {
        most = size;
        largest = cell;
      }
    }
    RunMaker maker(campaign);
    SegmentWriter writer(campaign.segments(), "estimate");
    for (const std::uint32_t cell : {smallest, largest}) {
      const std::uint64_t run = first_run(campaign, cell);
      survey.look();
      if (survey.done(run)) continue;
      const auto entry = maker.make(campaign.runs[run], stop);
      if (!entry) break;
      writer.append(*entry);
    }
    writer.sync();
    survey.look();
    out.smallest = campaign.cells[smallest].name;
    out.largest = campaign.cells[largest].name;
  }
  out.run_s = survey.run_s();
  out.core_s = out.run_s * static_cast<double>(survey.total() - survey.done());
  return out;
}

}  // namespace spillway
