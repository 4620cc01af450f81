// One run of a scenario on one replicate of its workload, judged against the SLO.
//
// Judged are the requests behind the warm-up that is found in the run (warm_up.hpp), at least half
// of all, or all that the scenario measures.
//
// A percentile target is a statement about a share of requests: "p99 at most 2 s" says that at most
// 1% of them take longer. That share is unbiased at any length of run and its mean over runs is
// the share of all requests, while a mean of percentiles is neither; so it is what replications
// average. A request that is not completed misses every latency target (a rejected one only where
// no target bounds rejected_share). target_meaning.hpp has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenarios/experiment/miss_ladder.hpp"
#include "scenarios/run/simulation.hpp"
#include "sim/note.hpp"
#include "sim/result.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// What one run says of one target.
struct TargetSample {
  double x = 0;              ///< percentiles: share of requests that miss; else the figure itself
  double limit = 0;          ///< x may be at most this (at least, for throughputs)
  std::uint64_t judged = 0;  ///< requests
  double value = 0;          ///< the figure that the target bounds, of this run; 0 where it was cut
  MissLadder ladder{};       ///< of percentiles of requests, of whole runs
};

struct Trial {
  RunResult run;
  std::vector<TargetSample> targets;  ///< in the order of the scenario's slo
  /// Share of requests that meet every latency target; of a run that was cut the most it can be.
  double attainment = 0;
  bool met = false;  ///< every target by its figure, and every request done
  bool cut = false;  ///< stopped early: some target can no longer be met (`run` is partial)
  /// Of the requests, those that no server of this configuration takes (not_admitted_share()).
  double not_admitted = 0;
  /// What the run took, about in requests that a step computes: engine steps or answer tokens,
  /// whichever are more.
  std::uint64_t work = 0;
  std::string standstill;     ///< how the server ceased to serve for ever; empty: it did not
  bool cold_limited = false;  ///< tiers never filled and the warm-up did not end
  std::string digest;         ///< of `run`
  std::string warm_up;        ///< how its end was found; empty where none was looked for
  Notes warnings;
};

struct TrialOptions {
  /// End the run as soon as some target can no longer be met: `met` is what it would have been, and
  /// x is what it would at least (rates: at most) have been.
  bool stop_when_decided = false;
  /// Leave out the warm-up that is found in the run; else judge whatever the scenario measures.
  bool find_warm_up = true;
  /// Where the warm-up is looked for, at least this share of the requests is left out: a queue
  /// starts empty, which neither caches nor loads show.
  double least_warm_up = 0;
  SimulationOptions simulation;
};

/// TrialOptions::simulation.stop ended a run before it said anything.
class OutOfTime : public std::runtime_error {
 public:
  OutOfTime() : std::runtime_error("out of time") {}
};

/// Throws what simulate() throws, and OutOfTime. Deterministic in (scenario, workload).
Trial run_trial(const Scenario& scenario, const Workload& workload,
                const TrialOptions& options = {});

}  // namespace spillway
