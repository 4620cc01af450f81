// The plain result of a paired comparison, which reports render.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/paired_difference.hpp"

namespace spillway {

/// Of a difference to the baseline, after Holm's correction over all tests of the comparison.
enum class Verdict : std::uint8_t {
  kBaseline,  ///< compared with nothing
  kBetter,
  kWorse,
  kUndecided,
  kEqual,      ///< the same value in every replicate
  kNotTested,  ///< too few replications
};

struct ComparedMetric {
  std::string name;
  bool lower_is_better = true;
  std::vector<double> values;  ///< by replicate
  double mean = 0;
  std::optional<double> recorded;  ///< of resampled workloads: the value on the recording itself
  PairedDifference difference;     ///< to the baseline; of the baseline to itself: nothing
  double adjusted_p = 1;           ///< where the difference has an interval
  Verdict verdict = Verdict::kBaseline;
};

/// What a run did to arrive at its figures, in a measure that can be compared between quantities.
struct MovedQuantity {
  enum class Unit : std::uint8_t { kShare, kBytes, kEach, kMilliseconds };

  std::string name;  ///< "prompt tokens from dram"
  Unit unit = Unit::kShare;
  double baseline = 0;  ///< means over replicates
  double variant = 0;
  PairedDifference difference;
  double movement = 0;  ///< the difference as a share of the quantity's whole
  bool named = false;   ///< among those that `reason` names
};

struct ComparedVariant {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;  ///< key and value, as written
  std::vector<ComparedMetric> metrics;
  std::vector<MovedQuantity> moved;  ///< none of the baseline
  std::string reason;                ///< one sentence; empty for the baseline
  std::vector<std::string> digests;  ///< of the runs, by replicate
  /// The policy that the engine cannot run, e.g. "s3fifo": ranked behind those that it can.
  std::string engine_lacks{};
};

struct CompareResult {
  std::string metric;  ///< ranked by it
  std::uint32_t replications = 0;
  Replication replication = Replication::kIndependent;
  std::string replicates;  ///< how they came about, one sentence
  std::size_t tests = 0;   ///< corrected for
  std::size_t baseline = 0;
  std::vector<ComparedVariant> variants;
  std::vector<std::size_t> ranking;  ///< best first
  std::string verdict;               ///< one sentence
};

}  // namespace spillway
