// What a plan's cells cost, which of them are worth their price, and how fast drives wear out.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/planner/consequences/prices.hpp"
#include "scenarios/planner/consequences/what_if.hpp"
#include "sim/paired_difference.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

/// What is known of a cell's attainment: by replicate, ascending. Runs that were cut are left out.
using Attainments = std::vector<std::pair<std::uint32_t, double>>;

struct CostQuestion {
  PlanCells cells;
  const Prices* prices = nullptr;       ///< null: none are given
  std::vector<Attainments> attainment;  ///< by cell; empty: only runs of the workload itself
  Replication replication = Replication::kIndependent;
};

/// Nothing where there are neither prices nor drives that wear out.
std::optional<PlanCost> find_cost(const CostQuestion& question);

/// Requests that meet every latency target, per unit of currency, of a run at `per_month`.
double goodput_per_cost(const RunResult& run, double per_month);

struct FrontCell {
  double cost = 0;
  double own = 0;            ///< attainment in the run of the workload itself
  Attainments attainment{};  ///< by replicate; may be empty
};

enum class FrontPlace : std::uint8_t { kOnFront, kDominated, kWithinNoise };

/// Which cells are worth their price, in (cost, attainment). A cell is dominated where a cheaper
/// one attains as much or more on the replicates that both ran, and within noise where it attains
/// more than a cheaper one of the front by no more than the interval of their paired difference.
/// Cells that share fewer than two replicates are compared by their runs of the workload itself.
std::vector<FrontPlace> pareto_front(const std::vector<FrontCell>& cells, Replication replication);

}  // namespace spillway
