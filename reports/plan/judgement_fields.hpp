// Why a plan answers as it does, by name: what binds, headroom, rules, and engine flags.
#pragma once

#include <array>
#include <string>

#include "reports/plan/advice.hpp"
#include "sim/fields.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

inline constexpr std::array<std::string_view, 6> kBindingKinds = {
    "capacity", "policy", "bandwidth", "compute", "admission", "none"};
/// Empty: nothing is changed.
inline constexpr std::array<std::string_view, 7> kCounterfactualKinds = {
    "", "load", "compute", "hbm", "capacity", "bandwidth", "admission"};

template <>
struct Fields<HeadroomPart> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("What the headroom is for."));
    f("share", r.share, signed_figure("The headroom as a share."));
    f("reason", r.reason, says("The figures that give it."));
  }
};

template <>
struct Fields<DecisionRow> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("situation", derived(std::string(advice_for(r).situation)),
      says("The situation that this row is for."));
    f("prefer", derived(std::string(advice_for(r).prefer)), says("What to prefer there."));
    f("avoid", derived(std::string(advice_for(r).avoid)), says("What to avoid there."));
    f("measured", r.measured, says("The figures that show the situation here."));
  }
};

template <>
struct Fields<RuleOfThumb> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("rule", derived(std::string(rule_for(r))), says("A rule of thumb of the field."));
    f("here", r.here, says("The figures of this plan."));
    f("agrees", r.agrees, says("Whether these figures agree with the rule."));
  }
};

template <>
struct Fields<PolicyBound> {
  static constexpr std::string_view kHelp =
      "What a better eviction policy could bring at one cell, without clock or engine.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cell", r.cell, says("The cell."));
    f("policy", r.policy, says("Its eviction policy."));
    f("policy_share", r.share, says("Share of prompt blocks that this policy hits.", 0, 1));
    f("optimum_share", r.optimum,
      says("Share of prompt blocks that the offline optimum hits.", 0, 1));
    f("content_share", r.content,
      says("Share of prompt blocks that a cache without bound hits.", 0, 1));
  }
};

template <>
struct Fields<Counterfactual> {
  static constexpr std::string_view kName = "counterfactual";
  static constexpr std::string_view kHelp =
      "One run of the workload itself with one thing changed.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kind", r.kind, one_of(kCounterfactualKinds, "What is changed; empty: nothing."));
    f("change", r.change, says("The change in words."));
    f("value", r.value, says("Figure of the target that the unchanged run misses most."));
    f("margin", r.margin,
      signed_figure("Distance to the tightest target, as a share of it; negative: missed."));
    f("met", r.met, says("This run meets every target."));
  }
};

template <>
struct Fields<Counterfactuals> {
  static constexpr std::string_view kHelp =
      "The nearest cell of a plan without an answer, with one thing changed at a time.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cell", r.cell, says("The nearest cell."));
    f("target", r.target, says("The target that it misses most."));
    f("base", r.base, says("The run with nothing changed."));
    f("changes", r.all, says("Each change."));
    f("notes", r.notes, says("Changes that could not be run, with the reason."));
  }
};

/// Members of the plan itself.
template <>
struct Fields<PlanJudgement> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("binding_kind", r.binding_kind, one_of(kBindingKinds, "The limiting resource, in a word."));
    f("binding_hbm", r.binding_hbm, if_any("What lacks is capacity of HBM, not of the tier."));
    f("headroom_parts", r.headroom, says("Each part of the headroom."));
    f("verdicts", r.verdicts, says("Findings that a reader must not miss."));
    f("decision_table", r.decision_table, says("Rows of the decision table that apply."));
    f("rules_of_thumb", r.rules_of_thumb, says("Rules of thumb, compared with this plan."));
    f("policy_bound", r.policy_bound, says("What a better eviction policy could bring."));
    f("counterfactuals", r.counterfactuals, says("What would meet the SLO, of a plan that fails."));
  }
};

}  // namespace spillway
