// What a cell's runs say of one target: how far from the limit, and whether they show that it is
// met or missed.
//
// A limit of 0 cannot be shown by any number of runs; it counts as met where no run exceeds it.
//
// Bounds of a share of requests rest on how many of them come as one (clusters.hpp), measured in
// these very runs; where runs do not say, on what cells nearby show, or a guess.
//
// An overload is shown without any of that: runs are independent, whatever happens in them. Who
// bets a part of his money on each of them that a figure exceeds its limit, at odds that are fair
// where its mean is the limit, has 1 / alpha times his stake with a chance of alpha at most
// (Ville 1939; Waudby-Smith and Ramdas 2024).
#pragma once

#include <optional>
#include <span>

#include "scenarios/experiment/target_bound.hpp"
#include "scenarios/planner/selection/clusters.hpp"
#include "scenarios/planner/selection/selection.hpp"

namespace spillway {

/// Runs as one target sees them.
struct Evidence {
  SampleSummary x;
  std::optional<Clusters> clusters;  ///< of slow requests, where the runs tell
  /// What bets against the target have won on these runs, of a stake of 1: where it is met they win
  /// so much with a chance of 1 in so much at most. 0 where no bets are taken.
  double won = 0;
};

class TargetJudge {
 public:
  TargetJudge(const SelectionTarget& target, Replication replication, double length)
      : target_(target), replication_(replication), length_(length) {}

  /// Of target number `index` of these runs.
  Evidence evidence(std::span<const CellSample> runs, std::size_t index) const;
  FigureKind kind() const { return target_.share ? FigureKind::kShare : FigureKind::kFigure; }
  bool within(double x) const { return target_.at_least ? x >= target_.limit : x <= target_.limit; }
  /// To the limit, on the scale of bounds (log odds or logarithms): positive where it is met.
  double distance(const SampleSummary& x) const;
  /// On the worse side.
  double bound(const Evidence& e, double alpha, std::optional<double> usual) const;
  /// Shown but for a chance of `alpha`.
  bool holds(const Evidence& e, double alpha, std::optional<double> usual) const;
  bool misses(const Evidence& e, double alpha, std::optional<double> usual) const;
  /// Shown to miss by bets; good after every run.
  bool misses_bets(const Evidence& e, double alpha) const {
    return !within(e.x.mean) && e.won * alpha >= 1;
  }
  /// Shown to miss by Markov's inequality; good after every run (Ville), and where runs were cut.
  bool misses_by_far(std::span<const CellSample> runs, std::size_t index, double alpha) const;

 private:
  double won(std::span<const double> x) const;

  const SelectionTarget& target_;
  Replication replication_;
  double length_;
};

}  // namespace spillway
