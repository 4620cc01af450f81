// A dashboard for Grafana: production by the engine's own metrics, and the simulated figures as
// constant lines beside them.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/ops/figures.hpp"

namespace spillway {

nlohmann::ordered_json dashboard(const OpsFigures& figures);
void write_dashboard(const OpsFigures& figures, std::ostream& out);

}  // namespace spillway
