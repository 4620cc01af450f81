// The part of a plan's report about what would change it.
#pragma once

#include <string>
#include <vector>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Precondition: the plan has a sensitivity.
Section sensitivity_section(const PlanResult& plan);

/// For a terminal: the factors whose limit lies nearest, `most` of them. Empty where the plan has
/// no sensitivity.
std::vector<std::string> sensitivity_sentences(const PlanResult& plan, std::size_t most);

}  // namespace spillway
