// What the fresh replicates of a cell show: whether all its targets hold, whether any is missed,
// and how much longer replicates would have to be.
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/planner/selection/longer_runs.hpp"
#include "scenarios/planner/selection/screening.hpp"

namespace spillway {

class FreshVerdicts {
 public:
  FreshVerdicts(const SelectionProblem& problem, const CellRecords& records)
      : problem_(problem), records_(records) {}

  /// Every target is shown to be met; each may use the whole of `alpha`.
  bool all_hold(std::uint32_t cell, double alpha) const;
  /// Some target is shown to be missed, by bounds or by bets; targets share `alpha`.
  bool any_misses(std::uint32_t cell, double alpha) const;
  bool any_misses_bets(std::uint32_t cell, double alpha) const;
  /// Of target `t`, on its worse side.
  double bound_of(std::uint32_t cell, std::size_t t, double alpha) const;
  /// SelectedCell::any_missed.
  std::optional<double> any_missed(std::uint32_t cell, double alpha) const;
  /// How long replicates have to be for this cell to be decided, times the usual length: for the
  /// target that needs most.
  double needed(std::uint32_t cell, Aim aim) const;
  /// Of one replicate, about the target that counts most of them.
  double requests_of(std::uint32_t cell) const;

 private:
  const SelectionProblem& problem_;
  const CellRecords& records_;
};

}  // namespace spillway
