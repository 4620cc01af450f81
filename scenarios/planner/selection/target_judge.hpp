// What a cell's runs say of one target: how far from the limit, and whether they show that it is
// met or missed.
//
// A limit of 0 cannot be shown by any number of runs; it counts as met where no run exceeds it.
//
// Bounds of a share of requests rest on how many of them come as one (clusters.hpp), measured in
// these very runs; where runs do not say, on what cells nearby show, or a guess.
#pragma once

#include <optional>
#include <span>

#include "scenarios/planner/selection/clusters.hpp"
#include "scenarios/planner/selection/selection.hpp"
#include "scenarios/planner/selection/target_bound.hpp"

namespace spillway {

/// Runs as one target sees them.
struct Evidence {
  SampleSummary x;
  std::optional<Clusters> clusters;  ///< of slow requests, where the runs tell
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
  /// Shown to miss by Markov's inequality; good after every run (Ville), and where runs were cut.
  bool misses_by_far(std::span<const CellSample> runs, std::size_t index, double alpha) const;

 private:
  const SelectionTarget& target_;
  Replication replication_;
  double length_;
};

}  // namespace spillway
