// What a plan or a sweep varies.
#pragma once

#include <string>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

/// A key of the scenario and the values that a plan or a sweep tries, as written (strings bare,
/// anything else as JSON).
struct SearchAxis {
  std::string key;  ///< dotted, as in --set
  std::vector<std::string> values;
  SourceRef where;
};

}  // namespace spillway
