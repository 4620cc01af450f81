// A chart as an SVG drawing that needs no script: what readers of print, of plain HTML and of
// screens without scripts see. Long names are shortened, with the whole name in a tooltip; series
// differ by dashes and marks as well as by colour.
//
// Colours come from CSS classes of the page (reports/renderers/html/style.css), so that dark mode
// and print work: s0 to s5 strokes, f0 to f5 fills, d0 to d5 dashes, h0 to h9 steps of heat.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace spillway {

/// Empty where the chart has nothing that can be drawn.
std::string svg_chart(const Chart& chart);

}  // namespace spillway
