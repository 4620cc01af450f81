// `spillway calibrate --replay`: a simulated run's transfers on the real GPU.
#pragma once

#include "scenarios/commands/command.hpp"
#include "scenarios/machine/gpu_replay.hpp"

namespace spillway {

/// Plays and compares; the document, --out's files and the summary. Returns the exit code.
int run_calibrate_replay(const GpuReplayOptions& options, const CommonOptions& common);

}  // namespace spillway
