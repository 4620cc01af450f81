// What `spillway calibrate` writes as results, by name: of a dry run, of --verify and of --replay.
#pragma once

#include <array>

#include "scenarios/machine/calibration_report.hpp"
#include "scenarios/machine/gpu_replay.hpp"
#include "scenarios/machine/verify.hpp"
#include "sim/fields.hpp"

namespace spillway {

inline constexpr std::array<std::string_view, 2> kCopyDirections = {"h2d", "d2h"};
inline constexpr std::array<std::string_view, 2> kCopyApis = {"memcpy_async", "memcpy_batch"};
inline constexpr FieldRule kReplayError =
    signed_figure("Simulated minus measured time, in percent of the measured time.");

template <>
struct Fields<SectionPlan> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("section", r.name, says("Section of the profile."));
    f("cells", r.cells, says("Cells that can be measured.", 1));
    f("in_budget", r.in_budget, says("Cells that fit into the budget."));
    f("expected_s", r.expected_s, says("Expected time of these cells."));
  }
};

template <>
struct Fields<CalibrationPlan> {
  static constexpr std::string_view kName = "calibration_plan";
  static constexpr std::string_view kHelp = "What spillway calibrate --dry-run would measure.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("budget_s", r.budget_s, says("Time that --budget gives."));
    f("planned_s", r.planned_s, says("Expected time of the cells that fit into the budget."));
    f("memory_bytes", r.memory_bytes, says("Most host memory in use at once."));
    f("scratch_bytes", r.scratch_bytes, says("Size of the scratch file; 0 without storage cells."));
    f("sections", r.sections, says("Each section, in the order of measuring."));
    f("missing", r.missing, says("What cannot be measured on this machine, and why."));
  }
};

template <>
struct Fields<VerifySummary> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cells", r.cells, says("Cells that were measured."));
    f("median_error", r.median, says("Median error, in percent."));
    f("p95_error", r.p95, says("95th percentile of the error, in percent."));
    f("max_error", r.max, says("Largest error, in percent."));
    f("holds", r.holds, says("Whether median and 95th percentile are within their limits."));
  }
};

template <>
struct Fields<VerifiedCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("section", r.section, says("Section of the profile."));
    f("request", r.request, says("What was measured: the cell's own members."));
    f("stored", r.stored, says("Whether the profile has this cell; if not, its fits predict it."));
    f("expected", r.expected, says("What the profile says."));
    f("measured", r.measured, says("Middle one of the repeated measurements."));
    f("unit", r.unit, says("Unit of both figures."));
    f("error", r.error, says("Absolute error, in percent."));
  }
};

template <>
struct Fields<VerifyResult> {
  static constexpr std::string_view kName = "calibration_verify";
  static constexpr std::string_view kHelp = "Whether a profile still describes this machine.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("holds", r.holds, says("Whether the profile holds."));
    f("stored", r.stored, says("Cells of the profile, measured again."));
    f("new_sizes", r.fresh, says("Sizes that the profile does not have, against its fits."));
    f("cells", r.cells, says("Each cell, largest error first."));
  }
};

template <>
struct Fields<ReplayWindow> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("from_s", r.from_s, says("Begin of the window on the run's clock."));
    f("transfers", r.transfers, says("Transfers of the window.", 1));
    f("bytes", r.bytes, says("Bytes that they move.", 1));
    f("copies", r.copies, says("Copies that they consist of.", 1));
    f("simulated_s", r.simulated_s, says("Simulated time of the window."));
    f("measured_s", r.measured_s, says("Measured time of the window."));
    f("error_percent", r.error_percent, kReplayError);
  }
};

template <>
struct Fields<TransferErrors> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("median_error_percent", r.median, says("Median of the absolute errors."));
    f("p95_error_percent", r.p95, says("95th percentile of the absolute errors."));
    f("worst_error_percent", r.worst, says("Largest absolute error."));
    f("median_bias_percent", r.median_bias,
      signed_figure("Median of the signed errors; above 0 the simulation is slower than the GPU."));
  }
};

template <>
struct Fields<ReplayDirection> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("direction", r.direction, one_of(kCopyDirections, "Direction of the copies."));
    f("transfers", r.transfers, says("Transfers of this direction."));
    f("bytes", r.bytes, says("Bytes that they move."));
    f("simulated_busy_s", r.simulated_busy_s, says("Sum of their simulated times."));
    f("measured_busy_s", r.measured_busy_s, says("Sum of their measured times."));
    f("error_percent", r.error_percent, kReplayError);
  }
};

template <>
struct Fields<ReplayedTransfer> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("link", r.link, says("Link of the run."));
    f("direction", r.direction, one_of(kCopyDirections, "Direction of the copy."));
    f("submitted_s", r.submitted_s, says("Time of submission on the run's clock."));
    f("bytes", r.bytes, says("Bytes of the transfer.", 1));
    f("copies", r.copies, says("Copies that it consists of.", 1));
    f("simulated_us", r.simulated_us, says("Simulated time."));
    f("measured_us", r.measured_us, says("Measured time."));
    f("error_percent", r.error_percent, kReplayError);
  }
};

template <>
struct Fields<ReplayComparison> {
  static constexpr std::string_view kName = "calibration_replay";
  static constexpr std::string_view kHelp = "Transfers of a simulated run, played on the real GPU.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("window", r.window, says("The window, from first submission to last end."));
    f("service", r.service, says("Errors of each transfer from start to end."));
    f("with_queueing", r.with_queueing, says("Errors of each transfer from submission to end."));
    f("directions", r.directions, says("Each direction."));
    f("worst", r.worst, says("Transfers with the largest errors."));
    f("late_us", r.late_us, says("Largest delay of a submission by the host."));
    f("left_out", group([&](auto&& g) {
        g("host_hops", r.host_hops, says("Transfers between tiers below HBM."));
        g("outside_window", r.outside_window, says("Transfers outside the window."));
      }),
      says("Transfers that were not played."));
    f("gpu", group([&](auto&& g) {
        g("name", r.gpu_name, says("Name of the GPU."));
        g("uuid", r.gpu_uuid, says("Its UUID."));
      }),
      says("The GPU."));
    f("api", r.api, one_of(kCopyApis, "How transfers are copied."));
  }
};

}  // namespace spillway
