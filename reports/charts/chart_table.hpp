// The figures of a chart as a table, for those who cannot see the drawing or want the numbers.
#pragma once

#include "reports/report.hpp"

namespace spillway {

/// No rows where the chart has no figures.
Table chart_table(const Chart& chart);

}  // namespace spillway
