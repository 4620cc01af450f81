// What is wrong with a trace, and what a sound one can and cannot say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/workload.hpp"
#include "traces/catalogue.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {

/// Something of a trace that its rows show only together. A place is a row of the file, "line 7",
/// or "request 7" where a trace has no lines.
struct TraceFacts {
  TraceStats stats;
  double time_step_s = 0;        ///< all arrivals are multiples of it after the first; 0: one time
  bool prefix_identity = false;  ///< names blocks at all
  bool think_times = false;      ///< records some pause of a client
  std::uint64_t tenants = 0;
  std::uint64_t empty_outputs = 0;   ///< rows that count as one token
  std::uint64_t repeating_rows = 0;  ///< rows that name a block twice
  std::string first_repeat;          ///< the place of the first
  /// References behind another block than at the first use of their id: it names content then, not
  /// a prefix. (An id that a row repeats is no such reference.)
  std::uint64_t moved_references = 0;
  std::string first_moved;  ///< the place of the first
};

struct TraceFinding {
  bool warning = false;  ///< else good to know
  std::string text;
};

struct TraceCheck {
  RowProblems problems;  ///< line 0: the file as a whole
  /// The rows without a fault. Nothing when there are none, or the file cannot be read to its end.
  std::optional<Workload> workload;
  TraceFacts facts;  ///< of `workload`
  std::vector<TraceFinding> findings;

  std::uint64_t rows() const { return workload ? workload->source().rows.read() : 0; }
  /// Whether `lenient` reading would take the trace.
  bool tolerable() const {
    return workload &&
           static_cast<double>(problems.count) <= kMostQuarantined * static_cast<double>(rows());
  }
};

/// Reads the trace at `path` through to its end, past faulty rows. Throws InputError only where it
/// cannot be read at all (exit 7).
TraceCheck check_trace(const std::string& path, OpenOptions options);

/// What `workload` shows; `lines` holds the place of each row in the file, or is empty.
TraceFacts trace_facts(const Workload& workload, const std::vector<std::int64_t>& lines);

}  // namespace spillway
