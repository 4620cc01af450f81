// What one would have to measure to know that a plan is wrong, with the plan's own figures.
#pragma once

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct Provenance;

/// No rows where no cell is spoken for.
Table falsifiers_table(const PlanResult& plan, const Provenance& provenance);

}  // namespace spillway
