// Cells of the reference scenario that differ in their tier's size, each run on one workload.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "scenarios/experiment/trial.hpp"
#include "scenarios/planner/consequences/what_if.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {

struct PlannedCells {
  std::deque<Scenario> scenarios;
  PlanResult plan;

  PlanCells cells() const {
    PlanCells out{plan, {}};
    for (const Scenario& scenario : scenarios) out.scenarios.push_back(&scenario);
    return out;
  }
};

/// HBM of 64 usable blocks (two documents of 32 blocks of 2 MiB); the smallest size that meets the
/// SLO is recommended.
inline PlannedCells planned_cells(const std::vector<std::string>& sizes,
                                  const std::vector<std::string>& more, const Workload& workload) {
  std::vector<std::string> all = {"engine.num_gpu_blocks=65"};
  all.insert(all.end(), more.begin(), more.end());
  const Scenario scenario = reference_with(all);
  PlannedCells out;
  out.plan.tier = "dram";
  for (const std::string& size : sizes) {
    out.scenarios.push_back(with_capacity(scenario, size));
    Trial trial = run_trial(out.scenarios.back(), workload);
    PlanPoint point;
    point.capacity = size;
    point.feasible = trial.met;
    point.verdict = trial.met ? CellVerdict::kMet : CellVerdict::kMissed;
    point.run = std::move(trial.run);
    out.plan.points.push_back(std::move(point));
    if (trial.met && out.plan.recommended < 0) {
      out.plan.recommended = static_cast<int>(out.plan.points.size()) - 1;
    }
  }
  return out;
}

}  // namespace spillway::test
