// Cells that no machine of this kind can have measured, by the limits of its link, memory and
// chips: a clock gone wrong, a cache that answered, contents never moved, a file edited by hand.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

struct Implausible {
  std::string section;  ///< as in the document: copy, hbm, ...
  std::size_t index = 0;
  std::string what;  ///< cell, figure and limit
};

/// Valid cells only: what was marked as invalid is not used anyway.
std::vector<Implausible> implausible_cells(const HardwareProfile& profile);

/// Most that host and `gpu` can exchange in one direction, GB/s of 1e9 bytes.
double link_limit_gbs(const GpuFacts& gpu);

std::string name_of(const CopyCell& cell);
std::string name_of(const StorageCell& cell);

}  // namespace spillway
