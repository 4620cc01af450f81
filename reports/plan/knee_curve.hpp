// Size against the target that is hardest to meet, as one curve.
#pragma once

#include <optional>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Of the cells that differ from the answer (else the one nearest to it) in size alone: the figure
/// of the tightest target, its limit, and a mark at the recommendation. Nothing below three sizes,
/// and where no target has a figure.
std::optional<Chart> knee_curve(const PlanResult& plan);

}  // namespace spillway
