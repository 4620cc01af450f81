// The sizes around a plan's decision as a table whose last column draws the tightest target.
#pragma once

#include <cstddef>
#include <string>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Whether cells differ in more than a size.
bool searched(const PlanResult& plan);

/// "met", "missed" or "uncertain"; of a size that few replicates judged, how many; "met (one run)"
/// of a single run. A cell that was left out: why.
std::string glance_standing(const PlanResult& plan, const PlanPoint& point);

/// At most `rows` cells: how each stands, its figures over its replicates beside the SLO, and a bar
/// to the limit's mark where `width` has room for one.
/// Precondition: the plan has cells.
Table glance_table(const PlanResult& plan, std::size_t rows, std::size_t width, bool unicode);

}  // namespace spillway
