// Margins to the tightest target as bars.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "reports/report.hpp"

namespace spillway {

/// Without bars.
inline Chart margin_chart(std::string title) {
  Chart chart;
  chart.title = std::move(title);
  chart.x_label = "% of the target; below 0 it is missed (cut off at -200)";
  chart.kind = ChartKind::kTornado;
  return chart;
}

/// Where the bar of this margin, a share of the target, ends: what lies further out would hide the
/// rest.
inline double drawn_margin(double margin) {
  return std::max(-200.0, 100 * margin);
}

}  // namespace spillway
