#include "scenarios/planner/judgement/judgement.hpp"

#include "reports/plan/headline.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
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

/// Every other cell against the one that the plan speaks of, by the share of requests in time on
/// the replicates that both ran.
void compare_cells(PlanResult& plan, int answer, const CellTrials& trials,
                   Replication replication) {
  const auto to = static_cast<std::size_t>(answer);
  if (to >= trials.size()) return;
  for (std::size_t i = 0; i < plan.points.size() && i < trials.size(); ++i) {
    if (i == to) continue;
    const auto [here, there] = trials_in_common(trials[i], trials[to]);
    if (here.size() < 2) continue;
    const auto shares = [](const std::vector<CellTrial>& of) {
      std::vector<double> out;
      for (const CellTrial& trial : of) out.push_back(trial.attainment);
      return out;
    };
    const PairedDifference found = paired_difference(shares(here), shares(there), replication);
    plan.points[i].difference = CellDifference{static_cast<std::uint32_t>(to), found.mean,
                                               noise_of(found.variance, here.size(), replication),
                                               static_cast<std::uint32_t>(here.size())};
  }
}

}  // namespace

void judge(PlanResult& plan, const SearchSpace& space, const Workload& workload,
           const CellTrials& trials, Replication replication) {
  KV_ASSERT(!plan.points.empty(), "a plan has a point");
  const PlanFacts facts(plan, space, workload, trials, replication);
  find_range(plan, facts);
  find_knee(plan, facts);
  find_policy_bound(plan, facts);
  find_binding(plan, facts);
  name_verdicts(plan, facts);
  apply_decision_table(plan, facts);
  compare_rules_of_thumb(plan, facts);
  find_headroom(plan, facts);
  find_answer(plan, facts);
  plan.verdict = plan_headline(plan);
  name_flags(plan, facts);
  compare_cells(plan, facts.judged(), trials, replication);
}

}  // namespace spillway
