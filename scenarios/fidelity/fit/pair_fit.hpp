// What a connector costs, from two logs of one server: without a tier below HBM, and with one.
//
// Both runs are simulated on the scenario's own workload, which alone tells what prompts share. The
// run without the tier sets how fast steps compute; what then lasts longer in the other one is the
// connector's (models/releases/connector_costs.hpp).
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "models/compute/compute_profile.hpp"
#include "models/releases/connector_costs.hpp"
#include "scenarios/scenario/measured/measured_run.hpp"

namespace spillway {

struct Scenario;

/// Answers and, where the logs tell when requests were scheduled, first tokens of one run.
struct PairScore {
  std::string part;  ///< as "with the tier: answers"
  std::uint32_t points = 0;
  double free_mape = 0;  ///< mean error in % with a connector that costs nothing
  double mape = 0;       ///< with the fitted costs
  double bias = 0;       ///< the same, signed
};

struct PairFit {
  ConnectorCosts costs;
  double time_scale = 1;  ///< of the scenario's step times, by the run without the tier
  std::map<std::string, FittedParameter> parameters;  ///< by key, and "time_scale"
  std::vector<std::string> hidden;  ///< keys that these logs cannot tell: nothing depends on them
  std::vector<PairScore> scores;
  /// Mean time per output token, ms: without and with the tier.
  std::array<double, 2> measured_tpot_ms{};
  std::array<double, 2> simulated_tpot_ms{};
  std::vector<std::string> warnings;
};

/// Simulations with these costs agree with both runs.
bool usable(const PairFit& fit);

/// `scenario` is that of the run with the tier. Throws InputError: exit 2 where it has no tier, or
/// several engines or stages; 3 where a log is not of its workload, where the logs name different
/// releases or models, or where they hold too few requests.
PairFit fit_pair(const MeasuredRun& without, const MeasuredRun& with, const Scenario& scenario);

}  // namespace spillway
