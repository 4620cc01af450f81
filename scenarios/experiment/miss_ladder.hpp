// How slow requests are spread over a run: how many are beyond each tenth of a target, in parts of
// the run one after the other.
//
// Slow requests come in queues. How many come as one can be counted only where they are plentiful,
// which is below the target: hence the tenths. A run that is cut into parts shows it by how much
// the parts differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

inline constexpr std::size_t kLadderLevels = 10;  ///< level k: beyond (10 - k) tenths of the target
inline constexpr std::size_t kLadderParts = 16;   ///< equal ones, in the order of arrival

/// Requests beyond level k in part i, at [k * kLadderParts + i]. Empty: not known.
using MissLadder = std::vector<std::uint32_t>;

/// What is known of one request for the ladder.
struct LadderStep {
  Time arrival;
  std::uint32_t request = 0;  ///< its number: orders equal arrivals
  double value = 0;           ///< what the target bounds; infinite where it was not completed
};

/// Sorts `steps`. Empty where there are none, or the target is not positive.
MissLadder miss_ladder(std::vector<LadderStep>& steps, double target);

/// The first request of part `part` of `requests`; `part` may be kLadderParts: their end.
inline std::uint64_t ladder_part(std::uint64_t requests, std::size_t part) {
  return requests * part / kLadderParts;
}

}  // namespace spillway
