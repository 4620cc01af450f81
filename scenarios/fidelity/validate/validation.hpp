// A validation case carried out: the measured run is simulated on its own arrivals and lengths, and
// what differs is summed up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/fidelity/validate/halves.hpp"
#include "scenarios/fidelity/validate/pairs_case.hpp"
#include "scenarios/fidelity/validate/regime.hpp"
#include "scenarios/fidelity/validate/regime_errors.hpp"
#include "scenarios/fidelity/validate/run_errors.hpp"
#include "scenarios/fidelity/validate/serving_case.hpp"
#include "scenarios/fidelity/validate/step_buckets.hpp"
#include "scenarios/fidelity/validate/validation_case.hpp"
#include "sim/note.hpp"

namespace spillway {

struct ValidationOptions {
  std::string data;              ///< folder for measured files that do not lie beside the case
  std::vector<std::string> set;  ///< changes to every scenario
  std::uint32_t first = 0;       ///< score only the earliest so many requests; 0: as the case says
  bool halves = false;           ///< fit on either half of a run's time, too, and score the other
};

/// A figure of several measured runs of the same thing, the first included.
struct RepeatSpread {
  std::string metric;
  std::uint32_t runs = 0;
  double least = 0;
  double most = 0;
  bool within = false;  ///< the simulated figure lies between them
};

/// A figure that has to stay within limits.
struct CheckedFigure {
  std::string name;
  double error_percent = 0;  ///< signed where it is of a metric
  std::optional<double> tolerance;
  std::optional<double> bar;

  bool exceeds(const std::optional<double>& limit) const;
};

/// What a case covers, so that a reader sees what no case does.
struct Coverage {
  std::string model;
  std::string family;  ///< dense, MoE, MLA; empty: not known
  std::string gpu;
  std::string engine;
  std::uint32_t ranks = 1;
  std::uint32_t engines = 1;
  bool tiers = false;
  bool reuse = false;  ///< requests share prefixes
};

struct CaseResult {
  ValidationCase input;
  std::uint32_t requests = 0;
  std::uint32_t scored = 0;
  std::optional<RegimeDecision> regime;  ///< nothing: the measured side does not tell
  std::vector<MetricError> metrics;
  std::vector<RequestErrors> request_errors;
  std::vector<WorstRequest> worst;
  std::optional<CounterErrors> counters;
  std::vector<StepBucket> steps;  ///< by size of batch
  std::vector<RegimeError> regimes;
  std::vector<RepeatSpread> repeats;
  std::vector<HalfResult> halves;         ///< where ValidationOptions::halves asks for them
  std::optional<ServingResult> serving;   ///< of a case of kind points
  std::optional<PairsResult> pairs;       ///< of a case of kind pairs
  std::vector<CaseParameter> parameters;  ///< all that the scenario gives, with their values
  std::vector<std::string> unexplained;   ///< of these, which no entry of the case accounts for
  Coverage coverage;
  std::uint64_t preemptions = 0;  ///< simulated
  std::uint64_t recomputed_tokens = 0;
  std::uint64_t prompt_tokens = 0;
  Notes notes;

  /// Everything that a limit of the case bounds.
  std::vector<CheckedFigure> checked() const;
  /// Keys of `tolerance` that bound none of these.
  std::vector<std::string> idle_tolerances() const;
};

/// Where `file` of a case lies: beside the case or under `data`; nothing where it does not.
std::optional<std::string> find_measured(const ValidationCase& c, const std::string& file,
                                         const std::string& data);
/// The first measured file of the case that is nowhere; nothing where all are there.
std::optional<std::string> missing_file(const ValidationCase& c, const std::string& data);

/// All parameters of the case's scenario, those that its compute profile brings included, with
/// where they come from; empty where nothing says so. Needs no measured file.
std::vector<CaseParameter> case_parameters(const ValidationCase& c);

/// Throws InputError where the scenario or a measured file is not what it should be. Precondition:
/// no file is missing.
CaseResult validate_case(const ValidationCase& c, const ValidationOptions& options);

}  // namespace spillway
