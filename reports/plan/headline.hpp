// The first line of a plan, which can be pasted into a ticket as it is: the answer, the figures
// that it rests on, what to do.
#pragma once

#include <string>

#include "sim/plan_result.hpp"

namespace spillway {

/// Precondition: everything else of the plan is known.
std::string plan_headline(const PlanResult& plan);

}  // namespace spillway
