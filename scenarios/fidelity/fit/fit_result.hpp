// What every fit hands over: a profile, how far each point is off, and why the worst ones are.
#pragma once

#include <string>
#include <vector>

#include "models/compute/compute_profile.hpp"

namespace spillway {

/// One measured point beside its prediction, for --explain.
struct FitPoint {
  std::string part;      ///< FitScore::part
  std::string what;      ///< the point in words: file and line, shape
  double measured = 0;   ///< us
  double predicted = 0;  ///< us
  bool held_out = false;
  std::string why;  ///< what such points have in common; empty where nothing is known
};

struct FitResult {
  ComputeProfile profile;
  std::vector<FitPoint> worst;  ///< by part, the largest errors first
};

}  // namespace spillway
