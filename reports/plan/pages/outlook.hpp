// Whether a recommendation holds as traffic grows.
#pragma once

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// "Next 12 months: fails by month 12", as the forecasts of plan.stress found; or that nobody
/// asked.
Fact outlook_fact(const PlanResult& plan);

}  // namespace spillway
