// The answer of a plan by name: what decides, what was tried, floor, ceiling and margin.
#pragma once

#include <optional>

#include "sim/fields.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

namespace plan_fields {

/// What a change costs more, beside the members of that change.
template <class M, class F>
void more_cost(M& more, F& f) {
  f("more_per_month",
    together(more.has_value(),
             [&](auto&& g) {
               auto& cost = held(more);
               g("more_per_month", cost.per_month,
                 signed_figure("Cost that the change adds each month; less than 0 saves."));
               g("currency", cost.currency, says("Currency of that cost."));
             }),
    {});
}

}  // namespace plan_fields

template <>
struct Fields<TriedTarget> {
  static constexpr std::string_view kName = "tried_target";
  static constexpr std::string_view kHelp = "One target in the runs of one change.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Key of a run's results, e.g. p99_ttft_ms."));
    f("tenant", r.tenant, if_any("Tenant whose requests the target is about."));
    f("at_least", r.at_least, if_any("The limit is a minimum."));
    f("value", r.value, says("The figure that the limit is about."));
    f("limit", r.limit, says("The limit."));
    f("met", r.met, says("Whether the figure keeps the limit."));
  }
};

template <>
struct Fields<KeyChange> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("key", r.key, says("Key of the scenario, as --set takes it."));
    f("from", r.from, says("Value in the scenario; empty: the scenario does not give it."));
    f("to", r.to, says("Value in this change."));
  }
};

template <>
struct Fields<TriedChange> {
  static constexpr std::string_view kName = "tried_change";
  static constexpr std::string_view kHelp = "A configuration with changed keys, as it was run.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kind", r.kind, says("What the change costs; the costliest part of a combination."));
    f("changes", r.changes, says("Each changed key."));
    f("free", derived(r.free()), says("The change costs no money."));
    f("met", r.met, says("The mean of these runs meets every target."));
    f("replicates", r.replicates, says("Replicates that it ran on; 0: the workload itself, once."));
    f("margin", r.margin,
      signed_figure("Distance to the tightest target, as a share of it; negative: missed."));
    f("targets", r.targets, says("Each target in these runs."));
    f("refused", r.refused, if_any("Why the change could not run."));
    plan_fields::more_cost(r.more, f);
  }
};

template <>
struct Fields<IdleAxis> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("key", r.key, says("A searched key."));
    f("values", r.values, says("Values that give the same runs."));
    f("decides", r.decides, says("The answer would be one of these values."));
  }
};

template <>
struct Fields<PlanAnswer> {
  static constexpr std::string_view kHelp =
      "The first line in codes: what decides, and the cheapest change that meets the SLO.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("verdict", r.verdict, says("Whether a configuration meets the SLO."));
    f("cause", r.cause, says("What decides the verdict."));
    f("at", r.at, newer(says("Index in points that the answer is about.", -1)));
    f("next_better", r.next_better,
      newer(says("Index in points that the objective would like next; -1: none.", -1)));
    f("remedy", r.remedy,
      says("The cheapest change that meets the SLO, where the plan misses it."));
    f("cheaper", r.cheaper, says("Settings with which a smaller size meets the SLO."));
    f("alone", r.alone, says("Changes that were tried alone, parts of the remedy first."));
    f("not_acting", r.idle, says("Searched keys of which some values make no difference."));
    f("arrive_per_s", r.arrive_per_s,
      says("Requests that arrive; 0: arrivals follow from the answers."));
    f("leave_per_s", r.leave_per_s, says("Requests that the configuration completes."));
    f("not_admitted_share", r.not_admitted_share,
      says("Share of requests that no such server admits.", 0, 1));
    f("limited_by_pool", r.limited_by_pool, if_any("HBM holds no longer request."));
    f("max_model_len", r.max_model_len, if_any("Longest context that is admitted, in tokens."));
    f("load_kind", r.load_kind, newer("Where requests come from."));
    f("no_identity", r.no_identity, says("The trace names no blocks."));
  }
};

template <>
struct Fields<PlanFloor> {
  static constexpr std::string_view kHelp =
      "Latencies of one request at a time, with tiers without bound.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("gpu", r.gpu, if_any("The GPU; empty: step times are given."));
    f("met", r.met, says("These latencies meet their targets."));
    f("targets", r.targets, says("Each latency with an upper limit."));
    f("compute", only_if(!r.met, r.compute),
      FieldRule{.help = "The same latencies with copies that take no time."});
    f("lowered", only_if(!r.met, r.lowered),
      FieldRule{.help = "Changes that were tried to lower these latencies."});
  }
};

template <>
struct Fields<PlanCeiling> {
  static constexpr std::string_view kHelp =
      "The load that the nearest configuration carries with a tier without bound.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("load", r.load, says("Multiple of the workload's own load."));
    f("requests_per_s", r.requests_per_s, says("Requests that arrive at that load."));
    f("at_least", r.at_least, says("The highest load that was tried still meets the SLO."));
    f("runs", r.runs, says("Runs that found it."));
  }
};

template <>
struct Fields<BreakingEvent> {
  static constexpr std::string_view kName = "breaking_event";
  static constexpr std::string_view kHelp = "An event under which the recommendation fails.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kind", r.kind, says("Kind of a stress row, or factor of a sensitivity row."));
    f("event", r.name, says("The event in words."));
    f("factor", r.factor, says("Multiple of the factor at which the recommendation fails."));
    f("target",
      together(!r.target.empty(),
               [&](auto&& g) {
                 g("target", r.target, says("The tightest target under the event."));
                 g("value", r.value, says("Figure of that target under the event."));
                 g("limit", r.limit, says("Limit of that target."));
               }),
      {});
    f("replicates", r.replicates,
      says("Replicates that show it; 0: one run of the workload itself."));
  }
};

template <>
struct Fields<NextSize> {
  static constexpr std::string_view kHelp =
      "The next size, where it survives what the recommended one does not.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("capacity", r.capacity, says("Its capacity, as written."));
    f("index", r.point, says("Its index in points."));
    f("more_bytes", r.more_bytes,
      signed_figure("Bytes that it adds over all engines and replicas."));
    f("survives", r.survives, says("Events under which only the larger size meets the SLO."));
    plan_fields::more_cost(r.more, f);
  }
};

template <>
struct Fields<GrowthRemedy> {
  static constexpr std::string_view kHelp =
      "The cheapest change that meets the SLO under a forecast that the recommendation fails.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("forecast", r.forecast, says("The forecast, e.g. in 12 months."));
    f("sessions", r.sessions, says("Multiple of the sessions by then."));
    f("change", r.change, says("The change, as run with so many sessions."));
  }
};

template <>
struct Fields<PlanMargin> {
  static constexpr std::string_view kHelp = "How far the recommendation is from failing.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("holds_alone", derived(r.broken.empty()), says("No event that was tried breaks it."));
    f("nearest", derived(r.broken.empty() ? std::optional<BreakingEvent>{} : r.broken.front()),
      says("The first of these events."));
    f("broken", r.broken, says("Events that break the recommendation, the nearest first."));
    f("survived", r.survived, says("Events under which the recommendation meets the SLO."));
    f("next_size", r.next, says("The next size, where it survives more."));
    f("growth", r.growth, says("What to change before traffic grows as forecast."));
  }
};

}  // namespace spillway
