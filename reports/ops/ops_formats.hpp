// The formats of the catalogue that are made for operations.
#pragma once

#include <ostream>

#include "reports/renderers/renderer.hpp"

namespace spillway {

void write_prometheus_format(const ResultView& result, std::ostream& out);
void write_alerts_format(const ResultView& result, std::ostream& out);
void write_grafana_format(const ResultView& result, std::ostream& out);

}  // namespace spillway
