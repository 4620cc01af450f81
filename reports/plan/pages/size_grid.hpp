// A plan's cells laid out for charts: sizes from left to right, one line for each combination of
// searched values. Where one size alone was tried, the values go from left to right.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct GridLine {
  std::string name;        ///< the searched values; empty where nothing was searched
  std::vector<int> cells;  ///< by place from left to right; -1: not tried
};

struct SizeGrid {
  std::string x_label;
  std::vector<std::string> x_names;
  std::vector<GridLine> lines;
  std::size_t left_out = 0;  ///< lines beyond what a chart can show
  bool over_values = false;  ///< from left to right stand values, not sizes
  int answer = -1;           ///< the line of the cell that the plan speaks of

  const GridLine& answer_line() const { return lines[static_cast<std::size_t>(answer)]; }
};

/// The line of the plan's answer and the best of the others, as many as a chart has room for.
SizeGrid size_grid(const PlanResult& plan);

/// Of one cell; not a number: a gap.
using CellValue = std::function<double(const PlanPoint&)>;

/// An empty chart over the grid.
Chart chart_over(const SizeGrid& grid, std::string title, std::string y_label);

/// Along one line of the grid; `value` is asked of cells that were tried and ran.
ChartSeries series_along(const PlanResult& plan, const GridLine& line, std::string name,
                         const CellValue& value);

/// One series for each line of the grid.
std::vector<ChartSeries> series_of_lines(const PlanResult& plan, const SizeGrid& grid,
                                         const CellValue& value);

/// What each step in size buys along a line: milliseconds of TTFT p99 for each GiB, hits, goodput.
Table size_steps_table(const PlanResult& plan, const GridLine& line);

}  // namespace spillway
