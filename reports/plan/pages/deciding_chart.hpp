// The one chart that decides a plan: the SLO against size.
#pragma once

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Of each size along the answer's line how far its tightest target is from its limit, with its
/// confidence interval, the limit, and how it stands. No series where nothing ran.
Chart deciding_chart(const PlanResult& plan);

}  // namespace spillway
