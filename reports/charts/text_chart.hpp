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

enum class TextMark { kMet, kOpen, kMissed };

/// A figure beside its limit; bars of one chart share `most`, the largest figure.
struct TextBar {
  double value = 0;
  double limit = 0;
  double most = 0;
  TextMark mark = TextMark::kOpen;
};

/// One line: the bar ends in a mark (met, open, missed) that lies on its side of the limit. What is
/// far beyond the limit is cut off, with an arrow.
std::string text_bar(const TextBar& bar, std::size_t columns, bool unicode);
/// What the limit's sign in bars stands for: "| 2.0 s".
std::string text_limit(const std::string& limit, bool unicode);

}  // namespace spillway
