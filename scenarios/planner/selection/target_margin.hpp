// How far a figure is from its target, the one way in which the planner measures it.
#pragma once

namespace spillway {

struct TargetFigure {
  double value = 0;  ///< the figure that the target bounds
  double target = 0;
  bool at_least = false;
  double x = 0;      ///< what decides: for a percentile the share of requests that miss it
  double limit = 0;  ///< that `x` may be
  bool met = false;  ///< as `x` says
};

/// The distance to the target as a share of it; negative only where it is missed. A percentile may
/// look well where the share that misses is too large (requests that never end have no latency),
/// or the other way round (a mean of percentiles is not that of all requests): the distance is then
/// that of the share to its limit.
double target_margin(const TargetFigure& figure);

}  // namespace spillway
