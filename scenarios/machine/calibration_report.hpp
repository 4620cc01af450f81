// A calibration for a terminal: the plan before, the figures after.
#pragma once

#include <string>

#include "reports/report.hpp"
#include "scenarios/machine/calibration.hpp"

namespace spillway {

/// Cells by section, what fits into the budget, memory and scratch space.
Report plan_summary(const Calibration& calibration, const CalibrationOptions& options);
/// The same as the results of a document of kind "calibration-plan".
nlohmann::json plan_results(const Calibration& calibration, const CalibrationOptions& options);

/// What was measured, what was left out, and what to do with it. `file`: where the profile is;
/// empty: nowhere.
Report profile_summary(const HardwareProfile& profile, const std::string& file,
                       const Calibration& calibration);

}  // namespace spillway
