// The cells of a plan by name: figures and targets over their replicates, and how sure a plan is.
#pragma once

#include <array>

#include "reports/run/run_fields.hpp"
#include "sim/fields.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

inline constexpr std::array<std::string_view, 5> kBoundaries = {"smooth", "cliff", "non_monotone",
                                                                "none", ""};

template <>
struct Fields<PlanConfidence> {
  static constexpr std::string_view kName = "plan_confidence";
  static constexpr std::string_view kHelp = "How sure the recommendation is.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("level", r.level, says("Probability that the recommendation meets every target.", 0.5, 1));
    f("method", r.method, says("How the replicates were made."));
    f("runs", r.runs, says("Runs that the plan took."));
    f("stages", r.stages, says("New replicates of each stage.", 1));
    f("stop_reason", r.stop_reason, says("Why the plan stopped."));
    f("boundary", r.boundary,
      one_of(kBoundaries, "How the figures change between the sizes that meet and miss the SLO."));
  }
};

template <>
struct Fields<TargetEstimate> {
  static constexpr std::string_view kName = "target_estimate";
  static constexpr std::string_view kHelp = "One target at one cell, over its replicates.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Key of a run's results, e.g. p99_ttft_ms."));
    f("tenant", r.tenant, if_any("Tenant whose requests the target is about."));
    f("bound", either(r.at_least, "min", "max"), says("Whether the target is a minimum."));
    f("target", r.target, says("The target of the SLO."));
    f("value", r.value, says("The figure of all replicates together."));
    f("x", r.x, says("Share of requests that miss a percentile target; otherwise the figure."));
    f("limit", r.limit, says("The limit of x."));
    f("share", r.share, says("Whether x is a share of requests."));
    f("confidence_bound", r.bound, says("One-sided confidence bound of x, on its worse side."));
    f("met", r.met, says("Whether x keeps its limit."));
    f("backed", r.backed, says("Whether the confidence bound keeps the limit too."));
  }
};

template <>
struct Fields<CellDifference> {
  static constexpr std::string_view kHelp =
      "Share of requests within SLO, less that of another cell on the same replicates.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("to_index", r.to, says("Index of the other cell in points."));
    f("mean", r.mean, says("Mean of the difference over the replicates.", -1, 1));
    f("noise", r.noise, says("Half the width of its 95% interval."));
    f("replicates", r.replicates, says("Replicates that both cells ran.", 2));
  }
};

template <>
struct Fields<Standstills> {
  static constexpr std::string_view kHelp =
      "Replicates in which a server stops for ever, because its requests wait for each other.";
  static bool absent(const Standstills& r) { return r.replicates == 0; }
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("replicates", r.replicates, says("Replicates with a standstill.", 1));
    f("of", r.of, says("Replicates that were run.", 1));
    f("decides", r.decides,
      says("Without the standstill the cell meets the SLO, or every replicate has one."));
    f("why", r.why, says("How the first one came about."));
  }
};

template <>
struct Fields<PlanPoint> {
  static constexpr std::string_view kHelp =
      "One cell: a size of the tier with one configuration of the searched keys.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Size and searched values, joined."));
    f("values", as_pairs(r.values, "key", "value"), if_any("Its value of each searched key."));
    f("combination", r.combination, if_any("These values in words, e.g. eviction=arc."));
    f("gpus", r.gpus, if_any("GPUs of all replicas.", 2));
    f("replicas", r.replicas, if_any("Replicas of the fleet.", 2));
    f("capacity", r.capacity, says("Capacity of the tier, as written."));
    f("capacity_bytes", or_inf(r.unbounded, r.capacity_bytes), says("Capacity of the tier."));
    f("feasible", r.feasible, says("Whether it meets the SLO, with the plan's confidence."));
    f("verdict", r.verdict, says("Whether it meets the SLO; looks-: without that confidence."));
    f("reason", r.reason, if_any("Why it is out, in a stable word, e.g. slo."));
    f("replications", r.replications, says("Replicates that were run."));
    f("cut", r.cut, says("Replicates that stopped early, because their verdict was clear."));
    f("attainment", r.attainment, says("Share of requests that meet every latency target.", 0, 1));
    f("attainment_low", r.attainment_low,
      says("One-sided lower confidence bound of attainment.", 0, 1));
    f("attainment_bound", r.attainment_at_most,
      says("Some run was cut short: attainment is an upper bound."));
    f("targets", r.targets, says("Each target of the SLO."));
    f("standstill", r.standstill, if_any("Replicates in which a server stops for ever."));
    f("difference", r.difference, says("Difference to the cell that the plan speaks of."));
    f("cold_limited", r.cold_limited, says("The workload never filled the tiers."));
    f("engine_lacks", r.engine_lacks,
      if_any("Policy that the engine cannot run: the cell is only a bound."));
    f("digest", r.digest, text_like(kDigestForm, "Digest of run."));
    f("run", r.run, says("Results of the workload itself."));
  }
};

}  // namespace spillway
