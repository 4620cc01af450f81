// The section `sweep` of a scenario: the cells of a campaign.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/scenario/sections/search_axis.hpp"

namespace spillway {

struct SweepChoice {
  std::vector<SearchAxis> vary;
  std::uint32_t replications = 1;
  SourceRef where;
};

}  // namespace spillway
