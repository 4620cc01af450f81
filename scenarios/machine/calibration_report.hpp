// A calibration for a terminal: the plan before, the figures after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "scenarios/machine/calibration.hpp"

namespace spillway {

struct SectionPlan {
  std::string name;
  std::size_t cells = 0;
  std::size_t in_budget = 0;
  double expected_s = 0;  ///< of those in the budget
};

/// What a calibration would measure.
struct CalibrationPlan {
  double budget_s = 0;
  double planned_s = 0;  ///< of the cells that fit into the budget
  std::int64_t memory_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::vector<SectionPlan> sections;
  std::vector<std::string> missing;
};

/// Cells by section, what fits into the budget, memory and scratch space.
Report plan_summary(const Calibration& calibration, const CalibrationOptions& options);
/// The same as results.
CalibrationPlan plan_of(const Calibration& calibration, const CalibrationOptions& options);

/// What was measured, what was left out, and what to do with it. `file`: where the profile is;
/// empty: nowhere.
Report profile_summary(const HardwareProfile& profile, const std::string& file,
                       const Calibration& calibration);

}  // namespace spillway
