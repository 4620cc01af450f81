#include "scenarios/planner/judgement/judgement.hpp"

#include "scenarios/flags/engine_flags.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

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

void judge(PlanResult& plan, const SearchSpace& space, const Workload& workload,
           const CellTrials& trials, Replication replication) {
  KV_ASSERT(!plan.points.empty(), "a plan has a point");
  const PlanFacts facts(plan, space, workload, trials, replication);
  find_range(plan, facts);
  find_knee(plan, facts);
  find_binding(plan, facts);
  name_verdicts(plan, facts);
  apply_decision_table(plan, facts);
  compare_rules_of_thumb(plan, facts);
  find_headroom(plan, facts);
  write_headline(plan, facts);
  name_flags(plan, facts);
}

}  // namespace spillway
