// What an operator who acts on a plan must not miss: what ends the answer, and what was seen to go
// wrong.
#pragma once

#include <string>

#include "reports/plan/host_budget.hpp"
#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// The changes that were tried and end the answer, the nearest first; or that none does, or none
/// was tried.
Fact breaking_fact(const PlanResult& plan);

/// Memory that is lacking, near limits, demand and failures that miss the SLO, then the planner's
/// named verdicts. No rows where there is nothing of these.
Table not_to_miss_table(const PlanResult& plan, const HostBudget& host);

/// "With 96GiB peak x2 and cold restart miss the SLO, one host lost leaves no service"; empty where
/// every event was survived, or none was tried.
std::string bad_events_sentence(const PlanResult& plan);

/// Which margin stands where and what each is taken over; empty where there is only one.
std::string margin_bases(const PlanResult& plan);

}  // namespace spillway
