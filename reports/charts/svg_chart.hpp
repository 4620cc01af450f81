// A chart as a self-contained SVG drawing: axes with round ticks, lines, limits and a legend;
// or bars.
// Colours come from CSS classes of the page, so that dark mode and print work.
#pragma once

#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace spillway {

std::string svg_chart(const Chart& chart);

/// Text inside HTML or SVG: markup characters and control characters made inert.
std::string html_text(std::string_view text);

}  // namespace spillway
