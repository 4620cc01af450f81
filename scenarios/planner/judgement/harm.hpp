// By which mechanism a tier makes a run slower, and how often it would have to be hit to pay.
#pragma once

#include <string>

#include "sim/result.hpp"

namespace spillway {

struct Scenario;

/// What a tier costs a run in time of steps, and what prompts have to take from it to be worth
/// that.
struct TierHarm {
  double lost_share = 0;    ///< of the run's time: waits, copies and the connector
  double served_share = 0;  ///< of prompt tokens, from below HBM
  /// The same from which computing less makes up for what is lost; 0: nothing is lost. Model: a
  /// prompt token costs what it does in a step full of prompts.
  double pays_from_share = 0;
  std::string how;  ///< in sentences; empty: not known
};

TierHarm harm_of(const Scenario& scenario, const RunResult& without, const RunResult& with);

}  // namespace spillway
