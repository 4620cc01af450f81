// What a plan's report and its summary on the terminal both say.
#pragma once

#include <string>
#include <vector>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Everything but the verdict, one sentence or two each.
std::vector<std::string> decision_sentences(const PlanResult& plan);

/// The recommended cell's targets: figure, share of requests that miss and its bound.
Table targets_table(const PlanPoint& point, double confidence);

}  // namespace spillway
