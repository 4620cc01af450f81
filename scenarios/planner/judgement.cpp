#include "scenarios/planner/judgement.hpp"

#include <fmt/format.h>

#include "reports/format.hpp"
#include "scenarios/flags/engine_flags.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

/// Which size, and what the sizes below it say.
std::string choice(const PlanResult& plan, const PlanFacts& facts) {
  const PlanPoint& chosen = facts.point(plan.recommended);
  const std::string with =
      facts.space().variants.size() > 1 ? fmt::format(" ({})", chosen.name) : std::string();
  if (chosen.run.tiers.size() < 2) return fmt::format("No {} is needed{}", plan.tier, with);
  if (facts.place() == 0) {
    return fmt::format("The smallest {} tried, {}{}, meets the SLO (try less)", plan.tier,
                       chosen.capacity, with);
  }
  const PlanPoint& below = facts.point(facts.line()[facts.place() - 1]);
  const char* said = below.cold_limited                        ? "cannot be judged"
                     : below.feasible                          ? "meets it as well"
                     : below.verdict == CellVerdict::kLooksMet ? "is not backed"
                                                               : "misses it";
  return fmt::format("The smallest {} tried that meets the SLO is {}{} ({} {})", plan.tier,
                     chosen.capacity, with, below.capacity, said);
}

std::string infeasible(const PlanResult& plan, const PlanFacts& facts) {
  const PlanPoint& near = facts.point(facts.judged());
  const TargetView miss = tightest(near);
  std::string out = fmt::format("No size meets the SLO. {} comes nearest: {}",
                                facts.label(facts.judged()), miss.text());
  if (near.run.completed < near.run.requests) {
    out += fmt::format(", and {} of {} requests do not complete",
                       near.run.requests - near.run.completed, near.run.requests);
  }
  return out + fmt::format(". First to break: {}", plan.binding);
}

std::string verdict(const PlanResult& plan, const PlanFacts& facts) {
  if (plan.recommended < 0) return infeasible(plan, facts);
  return fmt::format("{}: {} ({} headroom)", choice(plan, facts),
                     tightest(facts.point(plan.recommended)).text(), format_percent(plan.headroom));
}

/// Of the recommended cell, at the size that is to be set.
void name_flags(PlanResult& plan, const PlanFacts& facts) {
  if (plan.recommended < 0) return;
  const Scenario& s = facts.scenario(plan.recommended);
  Capacity capacity{Capacity::Kind::kBytes, 0};
  if (s.tier) capacity = s.tier->capacity;
  const bool rounded = plan.recommended_bytes > facts.point(plan.recommended).capacity_bytes;
  if (rounded && capacity.kind != Capacity::Kind::kUnbounded) {
    capacity = {Capacity::Kind::kBytes, plan.recommended_bytes};
  }
  plan.flags = flags_of(s, capacity, find_preset(s.preset, {}));
}

}  // namespace

void judge(PlanResult& plan, const SearchSpace& space, const Workload& workload) {
  KV_ASSERT(!plan.points.empty(), "a plan has a point");
  const PlanFacts facts(plan, space, workload);
  find_range(plan, facts);
  find_knee(plan, facts);
  find_binding(plan, facts);
  name_verdicts(plan, facts);
  apply_decision_table(plan, facts);
  compare_rules_of_thumb(plan, facts);
  find_headroom(plan, facts);
  plan.verdict = verdict(plan, facts);
  name_flags(plan, facts);
}

}  // namespace spillway
