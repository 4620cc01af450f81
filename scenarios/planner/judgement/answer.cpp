// What decides the answer: verdict and cause. The order is that of the first lines: what no size
// can mend comes before what a size could.
#include <algorithm>

#include "models/engine/stores/grouped_blocks.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/reasons.hpp"
#include "traces/stats/block_identity.hpp"

namespace spillway {

namespace {

AnswerCause cause_of_binding(const PlanResult& plan, const PlanFacts& facts) {
  const std::string& kind = plan.judgement.binding_kind;
  const std::optional<TriedChange>& remedy = plan.answer.remedy;
  if (remedy && remedy->kind == ChangeKind::kTier) {
    // What is better without its tier waits for copies.
    return is_nothing(remedy->changes.back().to) ? AnswerCause::kLink : AnswerCause::kCapacity;
  }
  if (kind == "bandwidth") return AnswerCause::kLink;
  if (kind == "policy") return AnswerCause::kPolicy;
  if (kind == "admission") return AnswerCause::kAdmission;
  const bool hbm = plan.judgement.binding_hbm;
  if (kind == "capacity" && hbm) return AnswerCause::kHbm;
  // A tier that brings nothing at any size is not what lacks.
  const int none = facts.without_tier();
  const auto adds = [&](int i) {
    return cached_share(facts.run(i)) - cached_share(facts.run(none)) >= kWorthwhile;
  };
  const bool several = facts.line().size() > 1 && (kind == "capacity" || kind == "none");
  if (none >= 0 && several && std::none_of(facts.line().begin(), facts.line().end(), adds)) {
    return AnswerCause::kTierAddsNothing;
  }
  return kind == "capacity" ? AnswerCause::kCapacity : AnswerCause::kCompute;
}

AnswerCause why_met(const PlanResult& plan, const PlanFacts& facts) {
  const bool several = facts.line().size() > 1;
  const bool none = facts.run(plan.recommended).tiers.size() < 2;
  return several && none ? AnswerCause::kTierAddsNothing : AnswerCause::kFits;
}

bool sets_something(const TriedChange& tried) {
  return std::any_of(tried.changes.begin(), tried.changes.end(), [](const KeyChange& change) {
    return change.key.starts_with("engine.") || change.key.starts_with("model.") ||
           change.key.starts_with("policies.") || change.key.ends_with(".eviction");
  });
}

AnswerCause find_cause(const PlanResult& plan, const PlanFacts& facts) {
  const PlanAnswer& a = plan.answer;
  const int at = facts.judged();
  const bool met = plan.recommended >= 0;
  if (!met && broken_by(facts.point(at), a.not_admitted_share) != nullptr) {
    return AnswerCause::kNotAdmitted;
  }
  if (!met && facts.point(at).standstill.decides) return AnswerCause::kStandstill;
  if (a.no_identity && facts.line().size() > 1) return AnswerCause::kNoIdentity;
  if (a.rests_on_idle_axis()) return AnswerCause::kNotBinding;
  if (met && a.cheaper && !a.cheaper->free()) return AnswerCause::kSetting;
  if (met) return why_met(plan, facts);
  if (plan.floor && !plan.floor->met) return AnswerCause::kFloor;
  const auto flooded = [&](int i) { return facts.overloaded(i); };
  // A size that was not tried may bear it.
  const bool unbounded_bears = plan.ceiling && plan.ceiling->load >= 1;
  // Whom a gate turns away leaves as well.
  const bool gated = plan.judgement.binding_kind == "admission";
  if (!gated && !unbounded_bears &&
      std::all_of(facts.line().begin(), facts.line().end(), flooded)) {
    return AnswerCause::kOverload;
  }
  if (plan.undecided) return a.cause;  // as the selection ended
  if (a.remedy && sets_something(*a.remedy)) return AnswerCause::kSetting;
  return cause_of_binding(plan, facts);
}

/// How well a cell stands, for the best of those that the objective likes equally.
int rank_of(const PlanPoint& point) {
  return point.feasible ? 3 : point.cold_limited ? 2 : point.verdict == CellVerdict::kLooksMet;
}

/// The next cell of the recommended size that the objective would like better; among equals the one
/// that stands best. -1: none was tried.
int next_better(const PlanResult& plan, const PlanFacts& facts) {
  if (plan.recommended < 0) return -1;
  const std::vector<double> scores = objective_scores(plan, facts);
  const auto score = [&](int i) { return scores[static_cast<std::size_t>(i)]; };
  int out = -1;
  for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
    if (score(i) <= score(plan.recommended)) continue;
    if (facts.point(i).capacity != facts.point(plan.recommended).capacity) continue;
    const bool nearer = out < 0 || score(i) < score(out);
    const bool stands =
        out >= 0 && score(i) == score(out) && rank_of(facts.point(i)) > rank_of(facts.point(out));
    if (nearer || stands) out = i;
  }
  return out;
}

LoadKind load_kind(const WorkloadChoice& workload) {
  if (workload.arrival.kind == ArrivalConfig::Kind::kClosedLoop) return LoadKind::kClients;
  if (workload.arrival.kind == ArrivalConfig::Kind::kPoisson) return LoadKind::kDrawn;
  return workload.generated() ? LoadKind::kGenerated : LoadKind::kRecorded;
}

}  // namespace

void find_answer(PlanResult& plan, const PlanFacts& facts) {
  PlanAnswer& answer = plan.answer;
  const RunResult& run = facts.run(facts.judged());
  const Scenario& scenario = facts.scenario(facts.judged());
  answer.at = facts.judged();
  answer.next_better = next_better(plan, facts);
  answer.load_kind = load_kind(*scenario.workload);
  answer.not_admitted_share = not_admitted_share(run);
  if (answer.not_admitted_share > 0) {
    const EngineConfig& engine = scenario.engine;
    answer.max_model_len = engine.max_model_len;
    answer.limited_by_pool = startup_pages(engine, engine.max_model_len + 1) >
                             static_cast<std::uint64_t>(engine.usable_blocks());
  }
  const bool recorded = !facts.scenario(facts.judged()).workload->generated();
  answer.no_identity = recorded && block_identity(facts.workload()) == BlockIdentity::kNone;
  if (facts.demand().arrivals_s > 0) {
    answer.arrive_per_s = static_cast<double>(run.requests) / facts.demand().arrivals_s;
    answer.leave_per_s = run.request_throughput;
  }
  answer.cause = find_cause(plan, facts);
  // Fewer GPUs with a setting are the cheapest change, though the answer as configured holds.
  const bool saves = plan.recommended >= 0 && answer.cause == AnswerCause::kSetting;
  if (saves) answer.remedy = answer.cheaper;
  if (answer.cause == AnswerCause::kNoIdentity && !answer.remedy && plan.recommended < 0) {
    answer.remedy.emplace().kind = ChangeKind::kTrace;
  }
  answer.verdict = plan.recommended >= 0 ? AnswerVerdict::kMet
                   : plan.undecided      ? AnswerVerdict::kUndecided
                                         : AnswerVerdict::kMissed;
}

}  // namespace spillway
