// How far the recommendation is from failing, part by part, each with what it is for.
#include <algorithm>
#include <optional>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/standing.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

void add(PlanResult& plan, const char* name, double share, Note reason) {
  plan.judgement.headroom.push_back({name, share, std::move(reason)});
}

/// What is left of the share of requests that may miss, at the confidence bound.
void add_confidence(PlanResult& plan, const PlanPoint& point) {
  std::optional<double> least;
  Note reason;
  for (const TargetEstimate& t : point.targets) {
    if (!t.bound || t.limit == 0) continue;
    const double share = (t.at_least ? *t.bound - t.limit : t.limit - *t.bound) / t.limit;
    if (least && share >= *least) continue;
    least = share;
    reason = plan_note("headroom-confidence", {{"metric", metric_words(t.name)},
                                               {"replicates", point.replications},
                                               {"bound", *t.bound},
                                               {"allowed", t.limit}});
  }
  if (least) add(plan, "confidence", *least, reason);
}

void add_size(PlanResult& plan, const PlanFacts& facts) {
  const PlanPoint& point = facts.point(plan.recommended);
  if (point.unbounded || point.capacity_bytes == 0) return;
  const auto share = [&](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(point.capacity_bytes);
  };
  if (plan.recommended_bytes > point.capacity_bytes) {
    add(plan, "rounding", share(plan.recommended_bytes - point.capacity_bytes),
        plan_note("headroom-rounding",
                  {{"size", spaced(point.capacity)}, {"rounded", spaced(plan.recommended_size)}}));
  }
  if (plan.infeasible_max < 0 || plan.infeasible_max > plan.recommended) return;
  const PlanPoint& below = facts.point(plan.infeasible_max);
  add(plan, "size", share(point.capacity_bytes - below.capacity_bytes),
      plan_note("headroom-size",
                {{"smaller", spaced(below.capacity)}, {"how", shortfall(plan, below)}}));
}

void add_host(PlanResult& plan, const PlanFacts& facts) {
  const Scenario& s = facts.scenario(plan.recommended);
  const PlanPoint& point = facts.point(plan.recommended);
  if (!s.host || s.host->memory == Bytes(0) || point.unbounded || (s.tier && s.tier->storage)) {
    return;
  }
  const std::int64_t pools = std::max(plan.recommended_bytes, point.capacity_bytes) *
                             std::max(1U, s.engine.data_parallel) * s.host->instances;
  const std::int64_t left = s.host->memory.count() - s.host->reserved.count() - pools;
  add(plan, "host", static_cast<double>(left) / static_cast<double>(s.host->memory.count()),
      plan_note("headroom-host", {{"left_bytes", left}}));
}

/// More requests than the recommended size stands, as the sensitivity found.
void add_growth(PlanResult& plan) {
  if (!plan.sensitivity) return;
  const std::uint32_t n = plan.sensitivity->replicates;
  for (const SensitivityRow& row : plan.sensitivity->rows) {
    if (row.factor != "arrival rate" && row.factor != "clients") continue;
    const NoteFigures figures = {{"factor", row.factor}, {"replicates", n}};
    if (row.changes_above) {
      add(plan, "growth", *row.changes_above - 1, plan_note("headroom-growth", figures));
    } else if (row.high.met) {
      add(plan, "growth", row.high.factor - 1, plan_note("headroom-growth-at-least", figures));
    }
  }
}

}  // namespace

void find_headroom(PlanResult& plan, const PlanFacts& facts) {
  if (plan.recommended < 0) return;
  const PlanPoint& point = facts.point(plan.recommended);
  const TargetView target = tightest(point);
  plan.headroom = target.margin;
  add(plan, "target", target.margin,
      plan_note("headroom-target",
                {{"target", against_limit({target.name, target.tenant, target.value, target.target,
                                           target.at_least})}}));
  add_confidence(plan, point);
  add_size(plan, facts);
  add_host(plan, facts);
  add_growth(plan);
}

}  // namespace spillway
