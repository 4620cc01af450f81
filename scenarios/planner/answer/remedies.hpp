// The cheapest change that meets the SLO, for a plan that does not: settings before money, by
// themselves and in combination; for a plan that does, settings with which a smaller size does, and
// what makes it last as sessions grow.
//
// Changes run on the workload itself. What is told as a remedy also ran on replicates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scenarios/planner/answer/configurations.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct RemedyQuestion {
  const PlanResult& plan;
  const SearchSpace& space;
  Configurations& configurations;
  const Workload& workload;
  /// What a remedy is confirmed on; empty: the workload itself decides.
  std::vector<std::uint32_t> replicates;
  std::uint64_t most_runs = 0;  ///< 0: as many as it takes
  double sessions = 1;          ///< times as many as the workload has
};

struct Remedies {
  std::optional<TriedChange> remedy;
  std::vector<TriedChange> alone;  ///< parts of the remedy first
};

/// For cell `cell`, the nearest of a plan that recommends nothing. Throws OutOfTime.
Remedies find_remedies(const RemedyQuestion& question, int cell);

/// For a plan whose answer takes `most` replicas: settings with which fewer of cell `cell`, which
/// has the fewest, meet the SLO. Throws OutOfTime.
std::optional<TriedChange> find_fewer_replicas(const RemedyQuestion& question, int cell,
                                               std::uint32_t most);

/// For a plan that recommends a cell: whether one setting makes `below`, a smaller size that misses
/// the SLO, meet it; its changes are the setting and the size. Throws OutOfTime.
std::optional<TriedChange> find_cheaper(const RemedyQuestion& question, int below);

/// For a plan whose recommended cell, `cell`, fails with `question.sessions` times as many
/// sessions: settings with which it does not, else `next`, a larger size that does not, else more
/// replicas. Throws OutOfTime.
std::optional<TriedChange> find_for_growth(const RemedyQuestion& question, int cell,
                                           const std::optional<TriedChange>& next);

}  // namespace spillway
