// How sure a plan is, in a word, with what that rests on.
#pragma once

#include <string>

#include "sim/plan_result.hpp"

namespace spillway {

struct ConfidenceGrade {
  std::string value;   ///< "High: 95% over 20 replicates"
  std::string detail;  ///< what it covers, what lowered it, what would raise it
};

/// High: backed at 95% or more. Medium: backed at less, or sizes around it behave unevenly. Low:
/// looked at, not backed. None: one run.
ConfidenceGrade grade_of(const PlanResult& plan);

}  // namespace spillway
