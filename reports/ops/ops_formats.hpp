// The formats of the catalogue that are made for operations.
#pragma once

#include <ostream>

#include "reports/renderers/renderer.hpp"

namespace spillway {

/// Why there are no alert rules of this result: a plan that recommends nothing has no run that
/// shows what is healthy. Empty: there are.
std::string without_alerts(const PlanResult* plan);

void write_prometheus_format(const ResultView& result, std::ostream& out);
void write_alerts_format(const ResultView& result, std::ostream& out);
void write_grafana_format(const ResultView& result, std::ostream& out);

}  // namespace spillway
