// The report of a plan.
#pragma once

#include <string>

#include "reports/provenance.hpp"
#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

Report plan_report(const PlanResult& plan, const Provenance& provenance);
/// The part of it that a terminal shows.
/// `provenance`: tells what else needs the host's memory; without its inputs that is left out.
Report plan_summary(const PlanResult& plan, const std::string& scenario,
                    const Provenance& provenance = {});
/// Every cell of a plan, side by side.
Table plan_table(const PlanResult& plan);

}  // namespace spillway
