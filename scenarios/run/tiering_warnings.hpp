// What a run with tiers behind host memory has to tell its reader beside the counts.
#pragma once

#include "models/engine/engine.hpp"
#include "scenarios/run/simulation.hpp"

namespace spillway {

/// Appends to `out.warnings`: writes that pinned host memory until stores failed, reads that take
/// longer than computing, tiers that grow for ever, requests that never end. `out.result` is
/// complete.
void warn_of_tiering(const Scenario& scenario, const Engine& engine, SimulationOutcome& out);

}  // namespace spillway
