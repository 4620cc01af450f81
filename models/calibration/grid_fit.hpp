// A rate over size and count from measured times: smoothed within their spread, monotone where
// physics says so, sharp where the hardware changes its regime; scored on sizes held out first.
//
// Times are fitted, not rates: within one regime the time of n copies of b bytes is close to
// bilinear in n and b (a fixed part, a part per copy, a part per byte), and it never falls as b or
// n grow. Where the rate changes by more than twofold against that (batched copies on an H100 jump
// sixfold between 24 and 28 KiB, vLLM PR 42212), the two sides are kept apart.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

struct GridCell {
  double bytes = 0;    ///< of one copy or block
  double count = 1;    ///< copies, or operations in flight
  double time_us = 0;  ///< of all of them
  double spread = 0;   ///< of the time, relative: half of p90 - p10
  std::string name;    ///< for complaints
};

/// `record` has form "table", with values in GB/s; `target`, params of others are the caller's.
struct GridFit {
  FitRecord record;
  std::vector<std::string> warnings;  ///< times that fall, cells named
};

/// Cells of one (bytes, count) are merged to their median. Precondition: times are positive and
/// there is at least one cell.
GridFit fit_grid(const std::vector<GridCell>& cells);

}  // namespace spillway
