// How much longer replicates have to be for a verdict, and what that takes.
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/planner/selection/target_judge.hpp"

namespace spillway {

/// What a figure would take to be told from its limit, as a multiple of what its runs have. Shares
/// need so many queues beyond the limit, and runs that are long for their queues.
/// `least_distance`: what is nearer to the limit is not aimed at. `usual` as for bounds; `runs`:
/// how many the next stage has.
double needed_length(const TargetJudge& judge, const SelectionTarget& target, const Evidence& e,
                     std::optional<double> usual, double least_distance, std::uint32_t runs);

/// Nearer than this, on the scale of bounds, a first attempt does not aim at: a quarter more or
/// less than the limit.
inline constexpr double kAimedDistance = 0.25;

struct LongerStage {
  std::uint32_t length = 0;  ///< of its replicates, times the usual length; 0: there is none
  bool last = false;         ///< no other can follow it
};

/// The stage behind one with replicates `length` times as long as usual, of which all runs of the
/// next stage take `work` if they are no longer than that. `needed`: times that length. `longest`
/// and `work_left` limit it; `stage` counts from 0.
LongerStage next_longer(std::uint32_t stage, std::uint32_t length, double needed, double work,
                        double work_left, std::uint32_t longest);

}  // namespace spillway
