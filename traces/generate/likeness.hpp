// How like two traces are: the statistics that a cache and a queue see, side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

struct LikenessRow {
  std::string statistic;
  double original = 0;
  double generated = 0;
  double error = 0;  ///< generated / original - 1; 1 where the original is 0 and `generated` is not
};

struct Likeness {
  std::uint32_t requests = 0;  ///< of the original that were compared
  std::vector<LikenessRow> rows;
};

/// Errors beyond this deserve a warning.
inline constexpr double kLikenessTolerance = 0.05;

/// Request rate, percentiles of lengths, and hit ratios of an infinite cache and of LRU at 1%, 10%
/// and 50% of the original's unique blocks, the same number of blocks for both. A generated trace
/// that is shorter is compared with as many first requests of the original: who has seen less finds
/// less again.
Likeness compare_traces(const Workload& original, const Workload& generated);

}  // namespace spillway
