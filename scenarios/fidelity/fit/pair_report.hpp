// The costs of a connector, as fitted, for people.
#pragma once

#include "reports/report.hpp"
#include "scenarios/fidelity/fit/pair_fit.hpp"

namespace spillway {

Report pair_report(const PairFit& fit);

/// As `engine.connector_costs` of a scenario takes them; what is 0 is left out.
std::string costs_text(const ConnectorCosts& costs);

}  // namespace spillway
