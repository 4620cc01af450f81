// The terms that reports use, for who does not work on serving engines every day.
#pragma once

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Those only that the pages of `plan` use; all where it is null.
Table glossary(const PlanResult* plan = nullptr);

}  // namespace spillway
