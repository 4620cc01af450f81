// `spillway calibrate --replay`: a simulated run's transfers on the real GPU.
#pragma once

#include "scenarios/calibrate/gpu_replay.hpp"
#include "scenarios/commands/command.hpp"

namespace spillway {

/// Plays and compares; the document, --out's files and the summary. Returns the exit code.
int run_calibrate_replay(const GpuReplayOptions& options, const CommonOptions& common);

}  // namespace spillway
