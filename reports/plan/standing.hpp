// How a size or configuration of a plan stands, in words that claim no more than was found.
#pragma once

#include <string>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Met or missed with the plan's confidence, or as far as it was run; uncertain: it was run for a
/// verdict and has none. None: it was left out.
Status standing_status(const PlanResult& plan, const PlanPoint& point);

/// "met", "missed" and "uncertain"; "met (3 replicates)" where that many runs sufficed to choose
/// among sizes and the plan's confidence was not asked for; "met (one run)". One that was left out:
/// why.
std::string standing(const PlanResult& plan, const PlanPoint& point);

/// What is wrong with one that was not taken, after its name: "misses the SLO", "missed the SLO in
/// its one run", "is uncertain", "cannot be judged".
std::string shortfall(const PlanResult& plan, const PlanPoint& point);

}  // namespace spillway
