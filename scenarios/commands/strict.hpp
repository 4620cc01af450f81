// --strict: what a verb does about a hardware profile that was measured elsewhere.
#pragma once

#include "scenarios/commands/tree/verb.hpp"

namespace spillway {

struct Scenario;

void add_strict(Verb& command, bool& strict);

/// check_hardware() with this machine, where the scenario has a profile.
void check_hardware_here(Scenario& scenario, bool strict);

}  // namespace spillway
