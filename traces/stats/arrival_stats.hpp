// How evenly requests arrive, and whether the recording's clock is fine enough to tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/fields.hpp"
#include "sim/workload.hpp"

namespace spillway {

inline constexpr std::int64_t kMinuteNs = 60'000'000'000;

/// Counts in equal windows from the first arrival on; a window cut short by the end is left out.
struct Dispersion {
  double window_s = 0;
  std::uint64_t windows = 0;
  double mean_count = 0;
  double index = 0;  ///< variance (over windows - 1) / mean of the counts; 1 for Poisson arrivals
  double band = 0;   ///< Poisson arrivals stay within 1 +- band, three standard errors
};

enum class Burstiness : std::uint8_t { kTooFew, kSmooth, kPoisson, kBursty };
template <>
struct EnumNames<Burstiness> {
  static constexpr std::array<std::string_view, 4> kNames = {
      "too few to tell", "smoother than Poisson", "like Poisson", "bursty"};
};

struct ArrivalStats {
  /// Standard deviation / mean of the gaps between requests, 1 for Poisson arrivals; -1: no gap.
  double gap_cv = -1;
  /// More than half of the requests share their instant with another, as in Mooncake: the clock of
  /// the recording shows in the gaps and in short windows.
  bool binned = false;
  double tick_s = 0;                   ///< median distance between distinct arrival times
  std::vector<Dispersion> dispersion;  ///< windows of which the span holds at least five
  Burstiness verdict = Burstiness::kTooFew;
  std::string reason;  ///< the figures behind the verdict, in a sentence
  double series_interval_s = 60;
  std::vector<std::uint64_t> series;  ///< requests per interval; at most 1,024 intervals
};

/// The verdict rests on windows of which there are twenty, with a request or more in each on
/// average, and ten ticks long where arrivals are binned. Bursty: one of them is dispersed beyond
/// the band of Poisson arrivals; smooth: none is, and one is below it.
ArrivalStats arrival_stats(const Workload& workload);

}  // namespace spillway
