// Errors of a run by what its engine was doing: one run is idle, busy and saturated by turns, and a
// mean over all of it says nothing of the short ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/fidelity/validate/regime.hpp"

namespace spillway {

/// Mean latency of the requests that met the engine in one regime.
struct RegimeError {
  Regime regime = Regime::kBusy;
  std::string latency;  ///< ttft: as the request came; tpot: halfway through its answer
  std::uint32_t requests = 0;
  double measured_ms = 0;
  double simulated_ms = 0;

  double error_percent() const { return 100 * (simulated_ms - measured_ms) / measured_ms; }
};

/// The regime of an instant is that of the measured counters (the request log, without them) within
/// 5 s of it. `requests` and `simulated` are the same ones in the same order, those of a part of
/// the run; `offset` is the clock_offset() of the whole. Nothing where all is one regime.
std::vector<RegimeError> regime_errors(const MeasuredRun& measured, const RegimeFacts& facts,
                                       const std::vector<MeasuredRequest>& requests,
                                       const std::vector<MeasuredRequest>& simulated,
                                       double offset);

}  // namespace spillway
