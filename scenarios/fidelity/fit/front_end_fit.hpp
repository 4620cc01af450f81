// What an API server takes, from its clients' log and the engine's log of the same requests.
//
// By how much the client's time to first token exceeds the engine's needs no common clock. That
// difference is, for each request,
//   request_ms + delay_ms
//   + what it waits for the requests before it, of request_ms each
//   + prompt_token_us x its prompt
//   + chunk_us x (1 + half of the answers that stream beside it)
// by least squares, refitted once without outliers. What the data do not tell keeps its published
// value, and is named.
// Model: one process; waits for chunks and for the tokeniser are left out of the waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario/measured/measured_run.hpp"

namespace spillway {

struct FrontEndFit {
  double request_ms = 0;
  double prompt_token_us = 0;
  double delay_ms = 0;
  double chunk_us = 0;
  std::uint32_t requests = 0;
  double mean_ms = 0;               ///< of the differences
  double median_error_ms = 0;       ///< absolute, of their predictions
  std::vector<std::string> kept{};  ///< keys whose published value the data leave as it is

  /// The keys to set, in words.
  std::string text() const;
};

/// Precondition: the run has a client's view (MeasuredRequest::client_ttft_s). Throws InputError
/// (exit 3) where requests are too few, or where clients see their first token before the engine
/// has it: clocks that run apart, or logs of two runs.
FrontEndFit fit_front_end(const MeasuredRun& run);
bool has_client_view(const MeasuredRun& run);

}  // namespace spillway
