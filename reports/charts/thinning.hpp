// Fewer points where a chart has more than a screen can tell apart.
#pragma once

#include <cstddef>
#include <string>

#include "reports/report.hpp"

namespace spillway {

struct Thinned {
  Chart chart;
  std::string note;  ///< what is left out, in sentences; empty: nothing
};

/// Keeps of every stretch of a series its highest and its lowest point, and the first and the last
/// of all: about `most` of each series. Columns of cells are joined, and show the highest. Beyond
/// what fits a page, series, bars and rows are left out.
Thinned thinned(const Chart& chart, std::size_t most);

}  // namespace spillway
