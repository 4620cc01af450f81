#include "scenarios/planner/beyond_engine.hpp"

#include <algorithm>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "scenarios/scenario/flags/engine_policies.hpp"

namespace spillway {

namespace {

/// Of one line of cells, the smallest that met the SLO once; -1: none.
int least_met(const PlanResult& plan, const std::vector<std::uint32_t>& line) {
  for (const std::uint32_t cell : line) {
    if (plan.points[cell].looks_met()) return static_cast<int>(cell);
  }
  return -1;
}

Note would_need(const PlanResult& plan, const SearchSpace& space,
                const std::vector<std::uint32_t>& line) {
  const PlanCell& first = space.cells[line.front()];
  const std::string& name = space.variants[first.variant].name;
  NoteFigures figures = {{"what", name.empty() ? first.engine_lacks : name},
                         {"engine", engine_name(first.scenario)},
                         {"policy", first.engine_lacks}};
  const int met = least_met(plan, line);
  if (met < 0) return plan_note("other-policy-misses", std::move(figures));
  const PlanPoint& point = plan.points[static_cast<std::size_t>(met)];
  figures.emplace_back("size", spaced(point.capacity));
  if (plan.recommended < 0) return plan_note("other-policy-meets", std::move(figures));
  const PlanPoint& best = plan.points[static_cast<std::size_t>(plan.recommended)];
  const bool as_much =
      point.unbounded == best.unbounded && point.capacity_bytes == best.capacity_bytes;
  return as_much ? plan_note("other-policy-saves-nothing", std::move(figures))
                 : plan_note("other-policy-meets", std::move(figures));
}

}  // namespace

Notes beyond_engine(const PlanResult& plan, const SearchSpace& space) {
  Notes out;
  for (const std::vector<std::uint32_t>& line : space.lines) {
    const PlanCell& first = space.cells[line.front()];
    if (first.engine_lacks.empty()) continue;
    if (!first.candidate) {
      out.push_back(would_need(plan, space, line));
      continue;
    }
    // Every combination lacks one: asked for as such, so it is answered, and said.
    add_once(out, plan_note("plan-is-bound", {{"engine", engine_name(first.scenario)},
                                              {"policy", first.engine_lacks}}));
  }
  return out;
}

}  // namespace spillway
