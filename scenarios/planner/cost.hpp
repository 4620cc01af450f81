// What a plan's cells cost, which of them are worth their price, and how fast drives wear out.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/planner/prices.hpp"
#include "scenarios/planner/what_if.hpp"
#include "sim/paired_difference.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

/// What is known of a cell's attainment: by replicate, ascending. Runs that were cut are left out.
using Attainments = std::vector<std::pair<std::uint32_t, double>>;

struct CostQuestion {
  PlanCells cells;
  const Prices* prices = nullptr;       ///< null: none are given
  std::vector<Attainments> attainment;  ///< by cell; empty: each of the workload itself
  Replication replication = Replication::kIndependent;
};

/// Nothing where there are neither prices nor drives that wear out.
std::optional<PlanCost> find_cost(const CostQuestion& question);

/// Requests that meet every latency target, per unit of currency, of a run at `per_month`.
double goodput_per_cost(const RunResult& run, double per_month);

/// Which cells no other dominates in (cost, attainment). One dominates a dearer one where
/// it attains the same in every replicate that both ran, or where the interval of their paired
/// difference says that it attains no less; ties, and pairs with too few replicates for an
/// interval, stay. With one run each (no replicates), that run decides.
std::vector<bool> pareto_front(const std::vector<double>& cost,
                               const std::vector<Attainments>& attainment, Replication replication);

}  // namespace spillway
