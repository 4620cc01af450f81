// What page.js draws a chart from.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace spillway {

/// A JSON object, inert inside a script element. Values that are not finite are null.
std::string chart_data(const Chart& chart);

}  // namespace spillway
