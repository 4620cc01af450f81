// The figures of a plan or run as metrics, in Prometheus' text format: for a file that
// node_exporter's textfile collector or a push gateway hands on, so that a dashboard can draw plan
// and production together.
#pragma once

#include <ostream>

#include "reports/ops/figures.hpp"

namespace spillway {

void write_metrics(const OpsFigures& figures, std::ostream& out);

}  // namespace spillway
