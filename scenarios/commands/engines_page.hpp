// The table of engines and knobs for readers: as tables and rows of `spillway list engines`, and as
// the page scenarios/ENGINES.md, where each cell leads to the test that proves it.
#pragma once

#include <string>
#include <vector>

#include "reports/report.hpp"

namespace spillway {

/// One table a group of knobs: what fits beside each other.
std::vector<Table> knob_tables();
/// All knobs of an engine in one row, each followed by what proves it.
Table knob_rows();
/// The page in Markdown.
std::string engines_page();

}  // namespace spillway
