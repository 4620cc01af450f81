#include "reports/charts/svg_chart.hpp"

#include "reports/charts/drawing.hpp"

namespace spillway {

std::string svg_chart(const Chart& chart) {
  switch (chart.kind) {
    case ChartKind::kTornado:
      return draw_tornado(chart);
    case ChartKind::kStacks:
      return draw_stacks(chart);
    case ChartKind::kHeatmap:
      return draw_heatmap(chart);
    case ChartKind::kLines:
    case ChartKind::kScatter:
      break;
  }
  return draw_lines(chart);
}

}  // namespace spillway
