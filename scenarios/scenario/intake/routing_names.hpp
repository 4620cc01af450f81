// Names that routers give their policies, and which of the fleet's stands for each.
#pragma once

#include <string>

#include "scenarios/scenario/intake/draft.hpp"

namespace spillway {

/// Sets fleet.routing, and tells what it is not. `name` empty: nobody said it.
void set_routing(const std::string& name, const std::string& origin, Draft& draft);

}  // namespace spillway
