#include "scenarios/planner/answer/idle_axes.hpp"

#include <algorithm>
#include "reports/plan/cells.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

/// Cells that differ from `cell` in the axis number `axis` alone, itself among them.
std::vector<std::size_t> along(const PlanResult& plan, std::size_t cell, std::size_t axis) {
  const PlanPoint& here = plan.points[cell];
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const PlanPoint& there = plan.points[i];
    bool alike = there.capacity == here.capacity && there.values.size() == here.values.size();
    for (std::size_t k = 0; alike && k < here.values.size(); ++k) {
      alike = k == axis || there.values[k] == here.values[k];
    }
    if (alike) out.push_back(i);
  }
  return out;
}

/// A limit on requests in flight that held nobody back. Clients of a closed loop are no limit.
bool held_nobody(const PlanPoint& point, const Scenario& s) {
  const bool limit = s.workload->arrival.kind != ArrivalConfig::Kind::kClosedLoop;
  return limit && point.run.client_queue_time.mean_ms == 0;
}

}  // namespace

std::vector<IdleAxis> find_idle_axes(const PlanResult& plan, const SearchSpace& space, int answer) {
  std::vector<IdleAxis> out;
  if (plan.points.empty()) return out;
  const std::size_t at = answer < 0 ? 0 : static_cast<std::size_t>(answer);
  const PlanPoint& here = plan.points[at];
  const Objective objective = space.variants.front().scenario.plan->objective;
  for (std::size_t axis = 0; axis < here.values.size(); ++axis) {
    const std::string& key = here.values[axis].first;
    IdleAxis idle{key, {}, false};
    for (const std::size_t i : along(plan, at, axis)) {
      if (plan.points[i].digest == here.digest) {
        idle.values.push_back(plan.points[i].values[axis].second);
      }
    }
    const bool load = objective == Objective::kMostLoad && is_load_key(key);
    const bool unreached = key == "workload.concurrency" && load && answer >= 0 &&
                           held_nobody(here, space.cells[at].scenario);
    if (idle.values.size() < 2 && !unreached) continue;
    idle.decides = answer >= 0 && load;
    out.push_back(std::move(idle));
  }
  return out;
}

}  // namespace spillway
