// Does a trace stay the same while it lasts? A plan made on a drifting trace holds for none of its
// hours.
//
// The span is cut into eight equal windows. For each quantity, over the windows' values:
//   drifting         a window is off the whole by more than the tolerance and by more than two of
//                    its standard errors; or the windows have a trend (Mann-Kendall, 5%, two-
//                    sided) that, as a line through them (Theil-Sen), takes them over half the
//                    tolerance
//   too short        not so, but a window's noise (two standard errors, their median) is above
//                    the tolerance, so that drift could hide in it; or fewer than 30 requests a
//                    window
//   stationary       neither
// Standard errors take requests as independent, so that sessions and bursts make them optimistic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/fields.hpp"
#include "sim/workload.hpp"

namespace spillway {

enum class Drift : std::uint8_t { kTooShort, kStationary, kDrifting };
template <>
struct EnumNames<Drift> {
  static constexpr std::array<std::string_view, 3> kNames = {"too short to tell", "stationary",
                                                             "drifting"};
};

enum class DriftQuantity : std::uint8_t { kRequestRate, kMeanInput, kHitRatio };
template <>
struct EnumNames<DriftQuantity> {
  static constexpr std::array<std::string_view, 3> kNames = {"request rate", "mean input",
                                                             "hit ratio"};
};

struct DriftTest {
  DriftQuantity quantity = DriftQuantity::kRequestRate;
  double overall = 0;
  double tolerance = 0;          ///< in the quantity's unit: 20% of the whole, 0.05 for a ratio
  std::vector<double> windows;   ///< value per window
  double largest_deviation = 0;  ///< of a window from the whole, with its sign
  double noise = 0;              ///< two standard errors of a window, their median
  double trend_z = 0;            ///< Mann-Kendall; beyond +-1.96 it is a trend
  double trend_change = 0;       ///< from the first window to the last along the line
  Drift verdict = Drift::kTooShort;
};

struct Stationarity {
  double window_s = 0;
  std::vector<DriftTest> tests;  ///< the hit ratio only where the trace names blocks
  Drift verdict = Drift::kTooShort;
  std::string reason;  ///< for which quantity and by which figures
};

/// The hit ratio here is of references to blocks that another request named within one window's
/// time before: a cache's warming up is no drift. It starts with the second window.
Stationarity stationarity(const Workload& workload);

}  // namespace spillway
