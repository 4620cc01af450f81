// What a plan's workload is like, as parts of its pages.
#pragma once

#include <optional>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Percent of the workload's block references that an LRU cache of x bytes hits, from one pass over
/// the trace: no clock, no engine, answers and partial blocks left out. Nothing where the plan has
/// no workload, or the workload names no blocks.
std::optional<ChartSeries> reuse_over_bytes(const PlanResult& plan);

/// HBM of all ranks and the tiers below it at a cell, as x for the same chart: the largest of them,
/// for each keeps copies of what is nearer. Infinite where a tier has no bound.
double cache_bytes(const PlanPoint& point);

}  // namespace spillway
