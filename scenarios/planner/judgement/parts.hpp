// The parts of a judgement, in the order in which they are found. Each fills its members of the
// plan and reads those of the parts before it.
#pragma once

#include "scenarios/planner/judgement/plan_facts.hpp"

namespace spillway {

/// feasible_min, infeasible_max, the first breach, the runner-up and why it lost.
void find_range(PlanResult& plan, const PlanFacts& facts);
/// The size beyond which caches supply little more.
void find_knee(PlanResult& plan, const PlanFacts& facts);
/// What a better policy could bring at the judged cell.
void find_policy_bound(PlanResult& plan, const PlanFacts& facts);
/// What limits the judged cell: capacity, policy, bandwidth, compute, admission or none.
void find_binding(PlanResult& plan, const PlanFacts& facts);
/// What a reader must not miss.
void name_verdicts(PlanResult& plan, const PlanFacts& facts);
/// Rows of the field's decision table that apply, with the figures that decide them.
void apply_decision_table(PlanResult& plan, const PlanFacts& facts);
/// The field's rules of thumb beside what was found.
void compare_rules_of_thumb(PlanResult& plan, const PlanFacts& facts);
/// How far the recommendation is from failing, part by part.
void find_headroom(PlanResult& plan, const PlanFacts& facts);
/// What decides the answer, in codes.
void find_answer(PlanResult& plan, const PlanFacts& facts);

/// What the objective wants of each cell beyond its size, as preference_of() takes it.
std::vector<double> objective_scores(const PlanResult& plan, const PlanFacts& facts);

}  // namespace spillway
