// Intervals and verdicts for paired differences: two systems that saw the same workloads.
//
// Where workloads are independent draws, the mean difference has standard error s / sqrt(n): s of
// the n differences. Where they are resamples of one recording, each resample differs from the
// recording about as much as the recording differs from the next one (the bootstrap's premise,
// Efron 1979), and making more of them teaches nothing about other days: the standard error is then
// s * sqrt(1 + 1/n), the second part for the mean over few resamples. s / sqrt(n) would shrink to
// nothing and cover about half of the time at ten.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spillway {

enum class Replication : std::uint8_t { kIndependent, kResampled };

/// With fewer replications a spread is a guess: no interval is given.
inline constexpr std::size_t kLeastReplications = 5;
inline constexpr double kConfidence = 0.95;

struct DifferenceInterval {
  double low = 0;
  double high = 0;
  double p = 1;  ///< two-sided, of no difference
};

struct PairedDifference {
  double mean = 0;
  double variance = 0;                         ///< of the differences; 0 for a single one
  bool any = false;                            ///< some difference is not zero
  std::optional<DifferenceInterval> interval;  ///< Student's t at kConfidence
};

/// Of `variant` less `baseline`, replicate by replicate. Precondition: as many of each, at least 1.
PairedDifference paired_difference(std::span<const double> variant,
                                   std::span<const double> baseline, Replication replication);

/// Half the width of the interval at kConfidence of a mean difference: of two replicates already,
/// for telling cells apart where a rough guess of the spread does. Precondition: n >= 2.
double noise_of(double variance, std::size_t n, Replication replication);

/// The mean, summed in order. Precondition: at least one value.
double mean_of(std::span<const double> values);
/// The sample variance; 0 for a single value.
double variance_of(std::span<const double> values);

/// Each p adjusted for all tests together (Holm 1979, step-down): below alpha where the family of
/// tests rejects it, while the chance of any false rejection stays below alpha.
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace spillway
