#include "scenarios/planner/beyond_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

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

std::string would_need(const PlanResult& plan, const SearchSpace& space,
                       const std::vector<std::uint32_t>& line) {
  const PlanCell& first = space.cells[line.front()];
  const std::string& name = space.variants[first.variant].name;
  const std::string what = name.empty() ? first.engine_lacks : name;
  const int met = least_met(plan, line);
  if (met < 0) return what + " would miss the SLO at every size as well";
  const PlanPoint& point = plan.points[static_cast<std::size_t>(met)];
  std::string out = fmt::format("{} would need {} (one run)", what, point.capacity);
  if (plan.recommended < 0) return out;
  const PlanPoint& best = plan.points[static_cast<std::size_t>(plan.recommended)];
  if (point.unbounded == best.unbounded && point.capacity_bytes == best.capacity_bytes) {
    out += ", no less than the recommended size";
  }
  return out;
}

}  // namespace

std::vector<std::string> beyond_engine(const PlanResult& plan, const SearchSpace& space) {
  std::vector<std::string> out;
  for (const std::vector<std::uint32_t>& line : space.lines) {
    const PlanCell& first = space.cells[line.front()];
    if (first.engine_lacks.empty()) continue;
    const std::string engine = engine_name(first.scenario);
    if (!first.candidate) {
      out.push_back(fmt::format("{}. {} cannot run {}", would_need(plan, space, line), engine,
                                first.engine_lacks));
      continue;
    }
    // Every combination lacks one: asked for as such, so it is answered, and said.
    std::string text =
        fmt::format("{} cannot run {}: read this plan as a bound", engine, first.engine_lacks);
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

}  // namespace spillway
