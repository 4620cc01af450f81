// One run of a scenario on one replicate of its workload, judged against the SLO.
//
// A percentile target is a statement about a share of requests: "p99 at most 2 s" says that at most
// 1% of them take longer. That share is unbiased at any length of run and its mean over runs is
// the share of all requests, while a mean of percentiles is neither; so it is what replications
// average. A request that is not completed misses every latency target (a rejected one only where
// no target bounds rejected_share).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "scenarios/simulation.hpp"
#include "sim/result.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// What one run says of one target.
struct TargetSample {
  double x = 0;              ///< percentiles: share of requests that miss; else the figure itself
  double limit = 0;          ///< x may be at most this (at least, for throughputs)
  std::uint64_t judged = 0;  ///< requests
  double value = 0;          ///< the figure that the target bounds, of this run
};

struct Trial {
  RunResult run;
  std::vector<TargetSample> targets;  ///< in the order of the scenario's slo
  double attainment = 0;              ///< share of requests that meet every latency target
  bool met = false;                   ///< every target, by this run alone
  bool cut = false;  ///< stopped early: some target can no longer be met (`run` is partial)
  bool cold_limited = false;  ///< tiers never filled and the warm-up did not end
  std::string digest;         ///< of `run`
  std::vector<std::string> warnings;
};

struct TrialOptions {
  bool stop_when_decided = false;
  SimulationOptions simulation;
};

/// Throws what simulate() throws. Deterministic in (scenario, workload).
Trial run_trial(const Scenario& scenario, const Workload& workload,
                const TrialOptions& options = {});

}  // namespace spillway
