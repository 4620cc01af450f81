// How much longer replicates have to be for a verdict, and what that takes.
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/planner/selection/target_judge.hpp"

namespace spillway {

/// Work (Trial::work) that all longer replicates of a plan may take: one to two minutes of one
/// core, on which a request in a step takes 1 to 2 us.
inline constexpr double kWorkForLonger = 60e6;

/// How far from its limit a figure is taken to be.
struct Aim {
  double errors = 0;  ///< standard errors farther than it looks
  double least = 0;   ///< on the scale of bounds: no nearer than this
};
/// To size a stage: a figure that looks far by luck must not make it too short; what is less than a
/// quarter off is not aimed at.
inline constexpr Aim kStageAim = {-1, 0.25};
/// To tell whether any stage would do.
inline constexpr Aim kHopefulAim = {2, 0};

/// What a figure would take to be told from its limit, as a multiple of the length of its runs, if
/// there are `runs` of them. Shares need so many queues beyond the limit, and runs that are long
/// for their queues. `usual` as for bounds.
double needed_length(const TargetJudge& judge, const SelectionTarget& target, const Evidence& e,
                     std::optional<double> usual, Aim aim, std::uint32_t runs);

struct LongerStage {
  std::uint32_t length = 0;  ///< of its replicates, times the usual length; 0: there is none
  bool last = false;         ///< no other can follow it
};

/// The stage behind one with replicates `length` times as long as usual, which would like them to
/// be `wanted` times as long. Work is left for `affordable` times, memory for `longest`; `stage`
/// counts from 0.
LongerStage next_longer(std::uint32_t stage, std::uint32_t length, double wanted, double affordable,
                        std::uint32_t longest);

}  // namespace spillway
