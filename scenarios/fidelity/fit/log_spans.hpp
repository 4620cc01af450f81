// What a request log tells of an engine's steps: spans of time between two clock readings of one
// request, scheduled to first token and first to last token.
//
// Waiting in the queue is left out: it follows from all that ran before, so that one slip there
// would count again in every request behind it.
#pragma once

#include <vector>

#include "scenarios/fidelity/fit/log_fit.hpp"

namespace spillway {

struct LogSpan {
  std::uint32_t request;
  bool first;  ///< scheduled to first token; else first to last token
  double from_s;
  double measured_s;
};

/// Those that workload_of() takes, in its order.
std::vector<MeasuredRequest> logged_requests(const MeasuredRun& run);

/// When a request first ran, as far as the log tells.
double begin_s(const MeasuredRequest& r);

/// The last instant at which the log holds everything that ran: when its last request came in.
double evidence_end(const std::vector<MeasuredRequest>& used);

/// Those of `options` that end by then.
std::vector<LogSpan> log_spans(const std::vector<MeasuredRequest>& used,
                               const LogFitOptions& options);

/// The run as if each request had come when the log says that it was scheduled, so that what a
/// simulation gets wrong of the waiting does not change what is batched with what: half a step
/// before, by the median of tokens' times, so that the step that begins nearest takes it. In order
/// of these arrivals; `places[i]` is where the i-th of logged_requests() comes to stand.
MeasuredRun come_when_scheduled(const MeasuredRun& run, std::vector<std::uint32_t>& places);

/// How many spans hold one instant, on average over those that any holds.
double overlap_of(std::vector<TimeSpan> spans);

}  // namespace spillway
