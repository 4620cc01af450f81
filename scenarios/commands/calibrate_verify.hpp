// `spillway calibrate --verify`: whether a profile still describes this machine.
#pragma once

#include <string>

#include "scenarios/commands/command.hpp"
#include "scenarios/machine/calibration.hpp"

namespace spillway {

/// Measures again, prints the verdict, writes the document. Returns the exit code: 0, or 99 where
/// the profile does not hold.
int run_calibrate_verify(const std::string& profile, CalibrationOptions choices,
                         const CommonOptions& common);

}  // namespace spillway
