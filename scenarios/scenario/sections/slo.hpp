// One of the sections `slo` of a scenario.
#pragma once

#include <string>

#include "sim/error.hpp"

namespace spillway {

struct SloTarget {
  std::string name;       ///< key of a run's results
  bool at_least = false;  ///< a minimum instead of a maximum
  double target = 0;
  std::string tenant;  ///< whose requests; empty: everyone's
  SourceRef where;
};

}  // namespace spillway
