// What was set from the command line, to be set again.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

/// "a.b.0.c=value" for each value that an option gave, as it is now, in the order of keys.
std::vector<std::string> assignments_of(const JsonSource& source);

}  // namespace spillway
