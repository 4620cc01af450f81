// The parts of a plan's report about cost and regret.
#pragma once

#include <string>
#include <vector>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Precondition: the plan has a cost.
Section cost_section(const PlanResult& plan);
/// Precondition: the plan has a regret.
Section regret_section(const PlanResult& plan);

/// For a terminal: what the recommended cell costs, and which one regrets least. Empty where the
/// plan has neither.
std::vector<std::string> cost_sentences(const PlanResult& plan);

}  // namespace spillway
