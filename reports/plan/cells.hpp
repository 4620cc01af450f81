// Cells of a plan as its pages speak of them: which differ in size alone, which one the plan is
// about, and what they are called.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan_result.hpp"

namespace spillway {

/// Precondition: 0 <= index < number of cells.
const PlanPoint& cell_at(const PlanResult& plan, int index);

const std::string& name_of_cell(const PlanPoint& point);

/// The target that so many requests that are never served break by themselves; null: none.
const TargetEstimate* broken_by(const PlanPoint& point, double never_served);

/// Whether a dotted key changes how much is asked of the system.
bool is_load_key(std::string_view key);

/// What a cell costs; null where it has no price.
const CellCost* cost_of(const PlanResult& plan, int cell);

/// Indexes of the cells that differ in size alone, one list for each combination of searched
/// values.
std::vector<std::vector<int>> size_lines(const PlanResult& plan);

/// The list that has the cell.
const std::vector<int>& line_of(const std::vector<std::vector<int>>& lines, int cell);

/// What a line's cells have in common: "arc", or "eviction arc, speed 2" of several keys; empty
/// where nothing was searched.
std::string line_name(const PlanPoint& point);

/// Whether cell `a` stands worse than `b`: by verdict, then by the share of requests that do well.
bool stands_worse(const PlanPoint& a, const PlanPoint& b);

/// The cell that the plan speaks of: recommended, else what is known speaks for it, else what comes
/// nearest to the SLO. -1: there are no cells.
int spoken_of(const PlanResult& plan);

/// Whether the workload's own run of it is there to look at.
inline bool has_run(const PlanPoint& point) {
  return point.run.requests > 0;
}

/// "64 GiB", "1,536 GiB", "512.00 MiB": as people order memory.
std::string memory_text(double bytes);

}  // namespace spillway
