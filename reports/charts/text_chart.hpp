// Line charts in characters, for terminals.
#pragma once

#include <string>
#include <vector>

#include "reports/report.hpp"

namespace spillway {

struct TextChartOptions {
  std::size_t width = 72;  ///< columns at most, labels included
  bool unicode = false;    ///< dots of Braille for lines; else ASCII
};

/// The lines of a chart of kind kLines, at most 12: its title, the plot with its limits as dashed
/// lines, the axis, regions as marks below it, and what is what. Empty for other kinds, and where
/// no series has two points to join.
std::vector<std::string> text_chart(const Chart& chart, const TextChartOptions& options);

}  // namespace spillway
