// What is needed, what is advised and what is there, as bars.
#pragma once

#include "reports/plan/pages/page_facts.hpp"
#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Sizes on a host, and its memory where that is known. No bars where no size has a bound.
Chart size_bars(const PlanResult& plan, const Installed& installed);

}  // namespace spillway
