// Where a transient ends: MSER-5 (White, Cobb and Spratt 1997).
//
// Observations are averaged in fives. Leaving out the first d of n such means, the marginal
// standard error of the rest is (sum of squares about their mean) / (n - d)^2: it falls while a
// transient is left out and rises again when good observations are. The d of the least one, within
// the first half, is the end; where it is the last one allowed, the transient has not ended.
#pragma once

#include <cstddef>
#include <span>

namespace spillway {

inline constexpr std::size_t kMserBatch = 5;
/// Fewer means than this say nothing.
inline constexpr std::size_t kLeastMserMeans = 10;

struct MserResult {
  std::size_t means = 0;  ///< of five observations each; what is left over at the end is not used
  std::size_t truncated = 0;  ///< observations to leave out, a multiple of five
  bool enough = false;        ///< at least kLeastMserMeans means
  bool settled = false;       ///< the least standard error is before the last place allowed
  /// Mean of the last quarter of the means less that of the quarter before it.
  double drift = 0;
};

MserResult mser5(std::span<const double> observations);

}  // namespace spillway
