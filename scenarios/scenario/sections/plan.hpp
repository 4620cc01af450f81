// The section `plan` of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/sections/search_axis.hpp"
#include "sim/error.hpp"

namespace spillway {

enum class Objective : std::uint8_t {
  kLeastDram,
  kLeastCost,
  kMostLoad,
  kMostGoodputPerCost,
  kLeastGpus
};
std::string_view name_of(Objective objective);

/// plan.demand: another demand that the recommendation should hold for.
struct DemandChoice {
  std::string name;
  GrowthChoice growth;
  SourceRef where;
};

struct PlanChoice {
  std::string tier = "dram";
  std::vector<std::string> sizes;  ///< as written, ascending; empty: chosen from the reuse curve
  std::vector<Capacity> capacities;
  std::vector<SearchAxis> search;
  Objective objective = Objective::kLeastDram;
  double confidence = 0.95;
  std::uint32_t replications = 40;  ///< most of one cell; 1: the workload itself, no interval
  std::uint64_t max_runs = 0;       ///< budget; 0: none
  std::string round_to;             ///< sizes that can be bought or set, e.g. "16GiB"
  std::string prices;               ///< path of a prices file; empty: none
  std::vector<DemandChoice> demand;
  bool sensitivity = true;
  bool stress = true;  ///< ask what happens under forecasts, peaks and losses
  /// Growth of the session rate behind the forecasts; none: the planner's own assumption.
  std::optional<double> growth_per_month;
  SourceRef where;
};

}  // namespace spillway
