// Closing the loop: the transfers of a simulated run played on the real GPU, and how far the two
// are apart.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "scenarios/machine/gpu_harness.hpp"
#include "scenarios/machine/transfer_schedule.hpp"

namespace spillway {

struct GpuReplayOptions {
  std::string schedule;  ///< the CSV file or the run's result
  WindowChoice window;
  std::string api = "memcpy_async";
  std::int64_t memory_bytes = std::int64_t{2} << 30;
  GpuHarnessOptions harness;
};

/// What the real GPU did with one transfer, in microseconds since the window's first submission.
struct MeasuredTransfer {
  double submitted_us = 0;
  double started_us = 0;
  double ended_us = 0;
};

/// Compares; both lists belong together.
nlohmann::json compare_replay(std::span<const ScheduledTransfer> simulated,
                              std::span<const MeasuredTransfer> measured);

struct GpuReplay {
  nlohmann::json inputs;
  nlohmann::json results;
  std::vector<std::string> warnings;
};

/// Throws InputError: exit 2 for a schedule that makes no sense, 7 where there is no GPU to play it
/// on or it is lost on the way. Writes nothing.
GpuReplay replay_on_gpu(const GpuReplayOptions& options);

/// From the results of a `calibration-replay` document.
Report replay_comparison_report(const nlohmann::json& results);

}  // namespace spillway
