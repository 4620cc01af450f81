#include "scenarios/planner/selection/target_margin.hpp"

#include <algorithm>

namespace spillway {

namespace {

double distance(double value, double target, bool at_least, bool met) {
  if (target == 0) return met ? 0 : -1;
  return (at_least ? value - target : target - value) / target;
}

}  // namespace

double target_margin(const TargetFigure& f) {
  const double by_value = distance(f.value, f.target, f.at_least, f.met);
  if (f.met == (by_value >= 0)) return by_value;
  const double by_share = distance(f.x, f.limit, f.at_least, f.met);
  return f.met ? std::max(0.0, by_share) : by_share;
}

}  // namespace spillway
