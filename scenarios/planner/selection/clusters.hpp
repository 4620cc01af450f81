// How many slow requests come as one: what turns requests into independent observations.
//
// Slow requests come in queues. N requests of which a share p is slow tell p as well as N/d
// independent ones: d, the index of dispersion, is the variance of a count of slow requests over
// that of independent ones. On an M/M/1 server at load 0.95 it is about 1,900 for waits beyond
// their p99, so 80,000 requests are worth 40.
//
// Where few queues reach the limit, d is counted beyond the highest level that several reach
// (tenths of the target, miss_ladder.hpp), and raised by its own error and for the way up to the
// limit: in a queue in heavy traffic d grows with the level, by 1 + 5p from one that a share p
// exceeds (GI/G/1 at load 0.8 to 0.95: p = 0.5, 0.3, 0.1, 0.03 show 0.28-0.31, 0.40-0.48, 0.63-0.75
// and 0.85-0.9 of what the limit has). What is seen between that level and the limit counts where
// it is more.
//
// Counts are compared in parts of a run, an eighth and a quarter of it. In parts that are not much
// longer than a queue lasts, counts differ too little, by about d (1 - c / length); the two lengths
// say how much is missing, unless the whole run is not much longer. Its requests are then worth
// less. A run also begins with an empty queue, so that it shows too few slow requests.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "scenarios/planner/selection/selection.hpp"

namespace spillway {

struct Clusters {
  double size = 1;     ///< requests that count as one, beyond the limit
  double penalty = 1;  ///< times this, where runs are too short to show that
  double start = 1;    ///< the share of slow requests may be so many times what is seen
  double effective() const { return size * penalty; }
};

/// A run of this many times `size` requests shows all that there is, and hardly feels its start.
inline constexpr double kLongEnough = 32;

/// Of target `index`, a share that may be `limit`. None where runs do not say, or too little.
std::optional<Clusters> clusters_of(std::span<const CellSample> runs, std::size_t index,
                                    double limit);

}  // namespace spillway
