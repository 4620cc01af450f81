// The terms that a plan's report uses, for who does not work on serving engines every day.
#pragma once

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Those only that this plan's pages use.
Table glossary(const PlanResult& plan);

}  // namespace spillway
