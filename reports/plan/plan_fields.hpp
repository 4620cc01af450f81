// The members of a plan's results, by name. Each part has a table of its own.
#pragma once

#include <array>
#include <map>
#include <string>

#include "reports/plan/answer_fields.hpp"
#include "reports/plan/cost_fields.hpp"
#include "reports/plan/flags_fields.hpp"
#include "reports/plan/judgement_fields.hpp"
#include "reports/plan/point_fields.hpp"
#include "reports/plan/sensitivity_fields.hpp"
#include "sim/fields.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

template <>
struct Fields<PlanWorkload> {
  static constexpr std::string_view kHelp = "The traffic that the cells ran on.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("stats", as_text(r.stats, "trace_stats"), says("Results of trace stats, long lists cut."));
    f("kv_bytes_per_block", r.kv_bytes_per_block,
      says("KV cache of one of its blocks, on all ranks of an engine."));
    f("tenants", r.tenants, says("Tenants; stats names the largest."));
  }
};

/// A cell that the answer names: by capacity, for people, and by index.
struct NamedCell {
  std::string_view name;
  int PlanResult::*index;
  std::string_view help;
};
inline constexpr std::array<NamedCell, 6> kNamedCells = {
    {{"recommended", &PlanResult::recommended, "The best cell that meets the SLO."},
     {"provisional", &PlanResult::provisional,
      "The most likely answer of an undecided plan, without confidence."},
     {"knee", &PlanResult::knee, "The sweet spot: a larger tier gains little."},
     {"runner_up", &PlanResult::runner_up, "The next best cell."},
     {"feasible_min", &PlanResult::feasible_min,
      "The smallest size that meets the SLO, at the recommended values."},
     {"infeasible_max", &PlanResult::infeasible_max,
      "The largest size below feasible_min that misses the SLO."}}};

template <>
struct Fields<PlanResult> {
  static constexpr std::string_view kName = "plan";

  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("tier", r.tier, says("The tier whose size is searched."));
    f("objective", r.objective, says("What makes one cell better than another."));
    f("points", r.points, says("Each cell that was tried."));
    f("feasible", derived(r.recommended >= 0), says("Whether the plan recommends a cell."));
    for (const NamedCell& cell : kNamedCells) named(cell, r, f);
    f("recommended_index", together(r.recommended >= 0, [&](auto&& g) { recommended(r, g); }), {});
    f("undecided", r.undecided, says("The budget ended before the plan could recommend."));
    f("would_decide", r.would_decide, if_any("What would decide an undecided plan."));
    f("runner_up_reason", r.runner_up_reason, if_any("Why the runner-up lost."));
    f("first_breach", r.first_breach,
      if_any("The target that infeasible_max misses first, with its figure."));
    f("verdict", r.verdict, says("The answer in one sentence."));
    f("binding", r.binding, says("Why the limiting resource is binding_kind."));
    f("headroom", r.headroom,
      signed_figure("Smallest relative distance to a target at the recommendation."));
    f("answer", r.answer, newer("The answer in codes."));
    f("floor", r.floor, says("Latencies that no size of the tier can lower."));
    f("ceiling", r.ceiling, says("The largest load that meets the SLO."));
    f("margin", r.margin, says("How far the recommendation is from failing."));
    Fields<PlanJudgement>::visit(r.judgement, f);
    f("flags", r.flags, says("Engine flags of the recommended cell."));
    f("confidence", together(r.confidence.has_value(), [&](auto&& g) { confidence(r, g); }), {});
    f("cost", r.cost, says("What the cells cost."));
    f("regret", r.regret, says("Cells compared over scenarios of demand."));
    f("sensitivity", r.sensitivity, says("Which inputs would change the recommendation."));
    f("stress", r.stress, says("Events, run at the recommended cell or the nearest."));
    f("workload", r.workload, says("The traffic that the cells ran on."));
    f("notes", r.notes, says("Notes about the plan."));
  }

 private:
  /// Of a document whose indices may be anything.
  static const PlanPoint& cell_of(const PlanResult& r, int index) {
    static const PlanPoint kNone;
    const auto at = static_cast<std::size_t>(index);
    return index >= 0 && at < r.points.size() ? r.points[at] : kNone;
  }

  template <class R, class F>
  static void named(const NamedCell& cell, R& r, F& f) {
    const std::string name(cell.name);
    const std::string index = name + "_index";
    f(index,
      together(r.*cell.index >= 0,
               [&](auto&& g) {
                 g(index, r.*cell.index, says("Its index in points."));
                 g(name, derived(cell_of(r, r.*cell.index).capacity), says(cell.help));
               }),
      {});
  }

  template <class R, class F>
  static void recommended(R& r, F& f) {
    const PlanPoint& cell = cell_of(r, r.recommended);
    bool unbounded = cell.unbounded;
    f("recommended_size", r.recommended_size, says("Size to set in one engine."));
    f("recommended_bytes", or_inf(unbounded, r.recommended_bytes), says("Bytes of one engine."));
    f("recommended_total_bytes", or_inf(unbounded, r.recommended_total_bytes),
      says("Bytes of all engines and replicas."));
    f("recommended_values",
      derived(std::map<std::string, std::string>(cell.values.begin(), cell.values.end())),
      says("Its value of each searched key."));
  }

  /// How the plan was computed is no part of its digest: it stands in sim.
  template <class R, class F>
  static void confidence(R& r, F& f) {
    auto& known = held(r.confidence);
    f("confidence", known, says("How sure the recommendation is."));
    f("sim", group([&](auto&& g) {
        g("runs_reused", known.reused, says("Runs that came from the cache."));
      }),
      says("How the plan was computed; the digest leaves it out."));
  }
};

}  // namespace spillway
