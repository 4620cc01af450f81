// What LMCache and llm-d do that a user of the native connector would not expect.
#pragma once

#include "scenarios/run/simulation.hpp"

namespace spillway {

struct Scenario;

void warn_of_chunks(const Scenario& s, SimulationOutcome& out);

}  // namespace spillway
