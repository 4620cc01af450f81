// How sure a plan is, in a word, with what that rests on.
#pragma once

#include <string>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct ConfidenceGrade {
  std::string value;                   ///< "High: 95% over 20 replicates"
  std::string detail;                  ///< what it covers, what lowered it, what would raise it
  Status status = Status::kUncertain;  ///< met: it is high
};

/// High: verified at 95% or more. Medium: verified at less, or sizes around it behave unevenly.
/// Low: run, not verified. None: one run.
ConfidenceGrade grade_of(const PlanResult& plan);

}  // namespace spillway
