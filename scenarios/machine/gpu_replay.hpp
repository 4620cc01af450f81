// Closing the loop: the transfers of a simulated run played on the real GPU, and how far the two
// are apart.
#pragma once

#include <cstdint>
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

// Errors are of the simulation, in percent of what was measured.

/// From the first submission to the last end.
struct ReplayWindow {
  double from_s = 0;  ///< on the run's clock
  std::uint64_t transfers = 0;
  std::int64_t bytes = 0;
  std::int64_t copies = 0;
  double simulated_s = 0;
  double measured_s = 0;
  double error_percent = 0;
};

/// Of one time of each transfer.
struct TransferErrors {
  double median = 0;  ///< of the absolute errors
  double p95 = 0;
  double worst = 0;
  double median_bias = 0;  ///< of the signed ones
};

struct ReplayDirection {
  std::string direction;
  std::uint64_t transfers = 0;
  std::int64_t bytes = 0;
  double simulated_busy_s = 0;
  double measured_busy_s = 0;
  double error_percent = 0;
};

struct ReplayedTransfer {
  std::string link;
  std::string direction;
  double submitted_s = 0;
  std::int64_t bytes = 0;
  std::int64_t copies = 0;
  double simulated_us = 0;
  double measured_us = 0;
  double error_percent = 0;
};

struct ReplayComparison {
  ReplayWindow window;
  TransferErrors service;        ///< start to end
  TransferErrors with_queueing;  ///< submission to end
  std::vector<ReplayDirection> directions;
  std::vector<ReplayedTransfer> worst;  ///< the largest errors first
  double late_us = 0;                   ///< by which the host submitted late, at most
  std::uint64_t host_hops = 0;          ///< left out: no GPU can play them
  std::uint64_t outside_window = 0;
  std::string gpu_name;
  std::string gpu_uuid;
  std::string api;
};

/// Compares the times; both lists belong together.
ReplayComparison compare_replay(std::span<const ScheduledTransfer> simulated,
                                std::span<const MeasuredTransfer> measured);

struct GpuReplay {
  nlohmann::json inputs;
  ReplayComparison results;
  std::vector<std::string> warnings;
};

/// Throws InputError: exit 2 for a schedule that makes no sense, 7 where there is no GPU to play it
/// on or it is lost on the way. Writes nothing.
GpuReplay replay_on_gpu(const GpuReplayOptions& options);

Report replay_comparison_report(const ReplayComparison& results);

}  // namespace spillway
